import { readOptions, type OptionsOf } from "@bunting/runtime";
import { expect } from "chai";
import { operatorOptionTable, type OperatorOptions } from "./options.js";

interface Reading {
  readonly options: OptionsOf<typeof operatorOptionTable>;
  readonly warnings: readonly string[];
}

const read = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Reading> =>
  readOptions(operatorOptionTable, { argv, env, refusesUnknownVariables: true, readsConfig: false });

async function refusal(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  return read(argv, env).then(
    () => expect.fail("nothing was refused"),
    (error: unknown) => {
      expect(error).to.be.instanceOf(Error).with.property("code", "OPTION_INVALID");
      return (error as Error).message;
    },
  );
}

/** The variables of the open-feature-operator: each with a text, and what it is read as. */
const stockVariables: Readonly<
  Record<string, readonly [text: string, key: keyof OperatorOptions, value: unknown]>
> = {
  POD_NAMESPACE: ["flags", "namespace", "flags"],
  FLAGD_PROXY_IMAGE: ["registry.example/p", "proxyImage", "registry.example/p"],
  FLAGD_PROXY_TAG: ["v7", "proxyTag", "v7"],
  FLAGD_PROXY_REPLICA_COUNT: ["5", "proxyReplicaCount", 5],
  FLAGD_PROXY_PORT: ["9015", "proxyPort", 9015],
  FLAGD_PROXY_MANAGEMENT_PORT: ["9016", "proxyManagementPort", 9016],
  FLAGD_PROXY_METRICS_PORT: ["9017", "proxyManagementPort", 9017],
  FLAGD_PROXY_DEBUG_LOGGING: ["true", "proxyDebugLogging", true],
  FLAGD_CLUSTER_DOMAIN: ["example.org", "clusterDomain", "example.org"],
  CLUSTER_DOMAIN: ["example.com", "clusterDomain", "example.com"],
  FLAGD_IMAGE: ["registry.example/f", "flagdImage", "registry.example/f"],
  FLAGD_TAG: ["v9", "flagdTag", "v9"],
  FLAGD_PORT: ["9021", "flagdPort", 9021],
  FLAGD_OFREP_PORT: ["9022", "flagdOfrepPort", 9022],
  FLAGD_SYNC_PORT: ["9023", "flagdSyncPort", 9023],
  FLAGD_MANAGEMENT_PORT: ["9024", "flagdManagementPort", 9024],
  FLAGS_VALIDATION_ENABLED: ["false", "flagsValidation", false],
  SIDECAR_ENV_VAR_PREFIX: ["MY", "sidecarEnvVarPrefix", "MY"],
  SIDECAR_MANAGEMENT_PORT: ["9014", "sidecarManagementPort", 9014],
  SIDECAR_PORT: ["9013", "sidecarPort", 9013],
  SIDECAR_IMAGE: ["registry.example/a", "sidecarImage", "registry.example/a"],
  SIDECAR_TAG: ["v8", "sidecarTag", "v8"],
  SIDECAR_SOCKET_PATH: ["/tmp/flagd.sock", "sidecarSocketPath", "/tmp/flagd.sock"],
  SIDECAR_EVALUATOR: ["yaml", "sidecarEvaluator", "yaml"],
  SIDECAR_PROVIDER_ARGS: ["a=1,b=2", "sidecarProviderArgs", ["a=1", "b=2"]],
  SIDECAR_SYNC_PROVIDER: ["flagd-proxy", "sidecarSyncProvider", "flagd-proxy"],
  SIDECAR_LOG_FORMAT: ["console", "sidecarLogFormat", "console"],
  SIDECAR_PROBES_ENABLED: ["false", "sidecarProbesEnabled", false],
  IN_PROCESS_PORT: ["9015", "inProcessPort", 9015],
  IN_PROCESS_HOST: ["flags.example", "inProcessHost", "flags.example"],
  IN_PROCESS_SOCKET_PATH: ["/tmp/sync.sock", "inProcessSocketPath", "/tmp/sync.sock"],
  IN_PROCESS_TLS: ["true", "inProcessTls", true],
  IN_PROCESS_OFFLINE_FLAG_SOURCE_PATH: ["/flags.json", "inProcessOfflineFlagSourcePath", "/flags.json"],
  IN_PROCESS_SELECTOR: ["a/b", "inProcessSelector", "a/b"],
  IN_PROCESS_CACHE: ["disabled", "inProcessCache", "disabled"],
  IN_PROCESS_CACHE_MAX_SIZE: ["7", "inProcessCacheMaxSize", 7],
  IN_PROCESS_ENV_VAR_PREFIX: ["MY", "inProcessEnvVarPrefix", "MY"],
};

describe("the options of the operator", () => {
  for (const [name, [text, key, value]] of Object.entries(stockVariables))
    it(`take ${name} as the open-feature-operator does`, async () => {
      const { options, warnings } = await read([], { [name]: text });
      expect(options[key]).to.deep.equal(value);
      expect(warnings).to.deep.equal([]);
    });

  it("take the arguments of the open-feature-operator's Deployment", async () => {
    const { options, warnings } = await read([
      "--health-probe-bind-address=:8081",
      "--metrics-bind-address=127.0.0.1:8080",
      "--leader-elect",
      "--sidecar-cpu-limit=500m",
      "--sidecar-ram-limit=64Mi",
      "--sidecar-cpu-request",
      "0.2",
      "--sidecar-ram-request=32M",
      "--image-pull-secrets=one,two,",
      "--labels=team:flags,tier:a",
      "--annotations=example.org/url:https://example.org",
      "--webhook-cert-path=/certs",
    ]);
    expect(warnings).to.deep.equal([]);
    expect(options).to.deep.include({
      healthProbeBindAddress: { port: 8081 },
      metricsBindAddress: { port: 8080, host: "127.0.0.1" },
      leaderElect: true,
      sidecarCpuLimit: "500m",
      sidecarRamLimit: "64Mi",
      sidecarCpuRequest: "0.2",
      sidecarRamRequest: "32M",
      imagePullSecrets: ["one", "two"],
      labels: { team: "flags", tier: "a" },
      annotations: { "example.org/url": "https://example.org" },
      webhookCertPath: "/certs",
    });
  });

  it("warn of what the open-feature-operator has and they do not", async () => {
    const argv = [
      "--zap-log-level=debug",
      "--zap-devel",
      "--zap-encoder",
      "json",
      "--metrics-secure=false",
      "--verbose",
    ];
    const { warnings } = await read(argv, {
      FLAGD_DEBUG_LOGGING: "true",
      FLAGD_PORT: "tcp://10.0.0.1:80",
    });
    expect(warnings).to.have.length(6);
    expect(warnings).to.include(
      "--zap-log-level is accepted and ignored: the log is set by --log-format and --debug",
    );
    expect(warnings).to.include(
      "FLAGD_DEBUG_LOGGING is accepted and ignored: the open-feature-operator does not use it either",
    );
  });

  it("are frozen, with their values", async () => {
    const { options } = await read(["--labels=a:b"]);
    expect(options).to.be.frozen;
    expect(options.labels).to.be.frozen;
    expect(options.healthProbeBindAddress).to.deep.equal({ port: 8081 });
  });

  it("refuse what they do not know", async () => {
    expect(await refusal(["--leader-elects"])).to.contain(
      "unknown flag: --leader-elects (did you mean --leader-elect?)",
    );
    expect(await refusal([], { BUNTING_CROSS_NAMESPACES: "deny" })).to.contain(
      "did you mean BUNTING_CROSS_NAMESPACE?",
    );
  });

  it("say what is wrong with a value", async () => {
    expect(await refusal(["--health-probe-bind-address=8081"])).to.contain(
      '--health-probe-bind-address: expected an address such as :8081, 127.0.0.1:8081 or [::1]:8081, or 0, got "8081"',
    );
    expect(await refusal(["--metrics-bind-address=:70000"])).to.contain("expected an address");
    expect(await refusal(["--metrics-bind-address=::1:8080"])).to.contain("expected an address");
    expect(await refusal(["--sidecar-ram-limit=64MB"])).to.contain(
      "expected a quantity such as 200m, 0.5 or 64Mi",
    );
    expect(await refusal(["--labels=team"])).to.contain('expected key:value, got "team"');
    expect(await refusal(["--drift=fight"])).to.contain("expected repair or enforce");
    expect(await refusal([], { FLAGD_PROXY_REPLICA_COUNT: "-1" })).to.contain(
      "the environment variable FLAGD_PROXY_REPLICA_COUNT",
    );
  });

  it("scale the proxy to none, as the open-feature-operator does", async () => {
    const { options } = await read([], { FLAGD_PROXY_REPLICA_COUNT: "0" });
    expect(options.proxyReplicaCount).to.equal(0);
  });

  it("listen nowhere at 0, and on IPv6 between brackets", async () => {
    const { options } = await read(["--metrics-bind-address=0", "--health-probe-bind-address=[::1]:0"]);
    expect(options.metricsBindAddress).to.equal("off");
    expect(options.healthProbeBindAddress).to.deep.equal({ port: 0, host: "::1" });
  });

  it("show each default as it is written", () => {
    const { type } = operatorOptionTable.healthProbeBindAddress;
    expect([type.show({ port: 8081 }), type.show({ port: 1, host: "::1" }), type.show("off")]).to.deep.equal([
      ":8081",
      "[::1]:1",
      "0",
    ]);
    expect(operatorOptionTable.sidecarCpuLimit.type.show("")).to.equal("none");
    expect(operatorOptionTable.labels.type.show({ a: "b", c: "d" })).to.equal("a:b,c:d");
  });

  it("take names of namespaces, each once, and refuse what can be none", async () => {
    const except = "BUNTING_PROXY_SECURITY_EXCEPT";
    for (const [argv, env] of [
      [["--proxy-security-except=shop,bank", "--proxy-security-except", "shop"], {}],
      [[], { [except]: "shop bank,shop" }],
    ] as const)
      expect((await read(argv, env)).options.proxySecurityExcept).to.deep.equal(["shop", "bank"]);
    expect(await refusal(["--proxy-security-except=shop,Bank"])).to.contain(
      'expected names of namespaces, got "Bank"',
    );
    expect(await refusal([], { [except]: "shop/*" })).to.contain('got "shop/*"');
  });
});
