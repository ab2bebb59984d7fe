<?php

require __DIR__ . '/vendor/autoload.php';

use GuzzleHttp\Client;
use GuzzleHttp\Psr7\HttpFactory;
use OpenFeature\implementation\flags\Attributes;
use OpenFeature\implementation\flags\EvaluationContext;
use OpenFeature\OpenFeatureAPI;
use OpenFeature\Providers\Flagd\FlagdProvider;

$http = ['client' => new Client(), 'requestFactory' => new HttpFactory(), 'streamFactory' => new HttpFactory()];
$api = OpenFeatureAPI::getInstance();
$api->setProvider(new FlagdProvider(['host' => 'localhost', 'port' => 8013, 'protocol' => 'http', 'httpConfig' => $http]));
$client = $api->getClient();

$user = new EvaluationContext('user-9', new Attributes(['email' => 'ada@example.com']));
$isOn = $client->getBooleanValue('new-welcome', false, $user);
echo 'new-welcome = ' . ($isOn ? 'true' : 'false') . "\n";
