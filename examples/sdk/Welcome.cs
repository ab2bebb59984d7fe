using OpenFeature;
using OpenFeature.Model;
using OpenFeature.Providers.Flagd;

await Api.Instance.SetProviderAsync(new FlagdProvider());
var client = Api.Instance.GetClient();

var user = EvaluationContext.Builder().SetTargetingKey("user-9").Set("email", "ada@example.com").Build();
var isOn = await client.GetBooleanValueAsync("new-welcome", false, user);
Console.WriteLine($"new-welcome = {isOn}");

await Api.Instance.ShutdownAsync();
