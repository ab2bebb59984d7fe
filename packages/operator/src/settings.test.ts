import { readOptions } from "@bunting/runtime";
import { expect } from "chai";
import { OperatorError } from "./operator-error.js";
import { operatorOptionTable, type OperatorOptions } from "./options.js";
import { flagdSettings, proxySettings, sidecarSettings, sourceSettings } from "./settings.js";

const read = async (...argv: string[]): Promise<OperatorOptions> =>
  (await readOptions(operatorOptionTable, { argv, env: { POD_NAMESPACE: "flags" }, readsConfig: false }))
    .options;

describe("the settings of the operator's parts", () => {
  it("are, by default, those of a new installation", async () => {
    const options = await read();
    expect(proxySettings(options, "1.2.3")).to.deep.equal({
      namespace: "flags",
      image: "ghcr.io/bunting/bunting-proxy:1.2.3",
      replicas: 2,
      ports: { sync: 8015, management: 8016 },
      debugLogging: false,
      options: {},
      pod: {
        serviceAccountName: "open-feature-operator-flagd-proxy",
        labels: {},
        annotations: {},
        imagePullSecrets: [],
      },
      tellsAgents: true,
      hasNetworkPolicy: true,
      authorizesAll: false,
    });
    expect(proxySettings(await read("--host-network-pods=inject"), "1.2.3")).to.include({
      hasNodeClients: true,
    });
    expect(sidecarSettings(options, "1.2.3")).to.deep.equal({
      image: "ghcr.io/bunting/bunting-agent:1.2.3",
      resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } },
      imagePullSecrets: [],
      applicationEnv: "connection",
      hostNetworkPods: "skip",
      proxyAccess: "plain",
    });
    expect(sourceSettings(options)).to.deep.equal({
      crossNamespace: "consent",
      providerKubernetes: "proxy",
      proxyAddress: "flagd-proxy-svc.flags.svc.cluster.local:8015",
      defaults: {
        port: 8013,
        managementPort: 8014,
        evaluator: "json",
        defaultSyncProvider: "kubernetes",
        logFormat: "json",
        envVarPrefix: "FLAGD",
        probesEnabled: true,
      },
      inProcessDefaults: {
        host: "localhost",
        port: 8015,
        tls: false,
        cache: "lru",
        cacheMaxSize: 1_000,
        envVarPrefix: "FLAGD",
      },
    });
  });

  it("have sidecars and Flagds, each by its image, read what only flagd does", async () => {
    const ofFlagd = async (...argv: string[]): Promise<unknown> => {
      const options = await read(...argv);
      return [sourceSettings(options), flagdSettings(options, "1.2.3")].map((each) => each.isFlagd ?? false);
    };
    expect(await ofFlagd()).to.deep.equal([false, false]);
    expect(await ofFlagd("--sidecar-image=mirror.example:5000/open-feature/flagd")).to.deep.equal([
      true,
      false,
    ]);
    const digest = `@sha256:${"0".repeat(64)}`;
    expect(await ofFlagd(`--flagd-image=mirror.example/flagd-v0${digest}`)).to.deep.equal([false, true]);
    for (const image of ["flagd.example:5000/bunting-agent", "mirror.example/agent:like-flagd"])
      expect(await ofFlagd(`--sidecar-image=${image}`), image).to.deep.equal([false, false]);
  });

  it("name an image by its tag, by a digest in place of one, or as it is if it has a digest", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const imagesOf = async (image: string, tag: string): Promise<string[]> => {
      const options = await read(
        `--proxy-image=${image}`,
        `--proxy-tag=${tag}`,
        `--sidecar-image=${image}`,
        `--sidecar-tag=${tag}`,
      );
      return [proxySettings(options, "1.2.3").image, sidecarSettings(options, "1.2.3").image];
    };
    expect(await imagesOf("r.example/i", "v7")).to.deep.equal(Array(2).fill("r.example/i:v7"));
    expect(await imagesOf("r.example/i", digest)).to.deep.equal(Array(2).fill(`r.example/i@${digest}`));
    expect(await imagesOf(`r.example/i@${digest}`, "")).to.deep.equal(Array(2).fill(`r.example/i@${digest}`));
  });

  it("follow each option of the proxy", async () => {
    const options = await read(
      "--proxy-replica-count=5",
      "--proxy-port=9015",
      "--proxy-management-port=9016",
      "--proxy-debug-logging",
      "--proxy-option=deletion-policy=empty",
      "--proxy-service-account=flags",
      "--proxy-network-policy=false",
      "--labels=team:a",
      "--annotations=note:b",
      "--image-pull-secrets=one",
      "--cluster-domain=example.org",
    );
    expect(proxySettings(options, "1.2.3")).to.deep.include({
      replicas: 5,
      ports: { sync: 9015, management: 9016 },
      debugLogging: true,
      options: { "deletion-policy": "empty" },
      pod: {
        serviceAccountName: "flags",
        labels: { team: "a" },
        annotations: { note: "b" },
        imagePullSecrets: ["one"],
      },
      tellsAgents: true,
      hasNetworkPolicy: false,
    });
    expect(sourceSettings(options).proxyAddress).to.equal("flagd-proxy-svc.flags.svc.example.org:9015");
  });

  it("name the Secret about Redis, and of its keys those that the proxy is given", async () => {
    const redisOf = async (...argv: string[]): Promise<unknown> =>
      proxySettings(await read(...argv), "1.2.3").redis;
    expect(await redisOf()).to.equal(undefined);
    expect(await redisOf("--redis-secret-files=ca.crt")).to.equal(undefined);
    expect(await redisOf("--redis-secret=r")).to.deep.equal({ name: "r", files: ["user", "password"] });
    expect(
      await redisOf(
        "--redis-secret=r",
        "--redis-secret-files=ca.crt,password",
        "--redis-secret-files=ca.crt",
      ),
    ).to.deep.equal({ name: "r", files: ["ca.crt", "password"] });
    expect(await redisOf("--redis-secret=r", "--redis-secret-files=")).to.deep.equal({
      name: "r",
      files: [],
    });
  });

  it("refuse keys of that Secret that the proxy has no use for", async () => {
    const error = await read("--redis-secret=r", "--redis-secret-files=pasword").catch(String);
    expect(error).to.include("expected some of user, password,").and.include('got "pasword"');
  });

  it("refuse security for a proxy that others deploy, and an option of it that would replace what the security says", async () => {
    const settle = async (...argv: string[]): Promise<unknown> =>
      proxySettings(await read("--proxy-security=mixed", ...argv), "1.2.3");
    for (const argv of ["--proxy=never", "--proxy-option=tls=off", "--proxy-option=auth=pod-ip"]) {
      const error: unknown = await settle(argv).catch((thrown: unknown) => thrown);
      expect(error, argv).to.have.property("code", "OPTION_INVALID");
      expect(String(error)).to.include("--proxy-security=mixed");
    }
    expect(await settle("--proxy-option=authorize=rbac")).to.deep.include({ options: { authorize: "rbac" } });
    const legacy = await settle("--cross-namespace=legacy");
    expect(legacy).to.have.property("authorizesAll", true);
    expect(
      proxySettings(await read("--proxy=never", "--proxy-option=tls=off"), "1.2.3").options,
    ).to.deep.equal({
      tls: "off",
    });
  });

  it("refuse another port of the proxy than the operator's, where its Service does not lead", async () => {
    for (const [option, own] of [
      ["port=9000", "--proxy-port"],
      ["management-port=9001", "--proxy-management-port"],
    ] as const) {
      const settle = async () => proxySettings(await read(`--proxy-option=${option}`), "1.2.3");
      const error: unknown = await settle().catch((thrown: unknown) => thrown);
      expect(error, option).to.have.property("code", "OPTION_INVALID");
      expect(String(error)).to.include(own);
    }
  });

  it("take options of the proxy that only say again what the operator does", async () => {
    const again = "--proxy-option=port=9000,management-port=8016,debug=true";
    const { options } = proxySettings(await read(again, "--proxy-port=9000"), "1.2.3");
    expect(options).to.deep.equal({ port: "9000", "management-port": "8016", debug: "true" });
  });

  it("refuse a proxy whose management port answers TLS alone, where neither probes nor the operator would reach it", async () => {
    const settle = async (value: string): Promise<unknown> =>
      proxySettings(await read(`--proxy-option=management-tls=${value}`), "1.2.3");
    const error: unknown = await settle("on").catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "OPTION_INVALID");
    expect(String(error)).to.include("management-tls=both");
    expect(await settle("both")).to.deep.include({ options: { "management-tls": "both" } });
  });

  it("refuse an option of the proxy that would replace what the Secret says", async () => {
    const settle = async (...argv: string[]) =>
      proxySettings(await read("--redis-secret=r", ...argv), "1.2.3");
    for (const option of ["backplane=redis://r:6379", "backplane-password-file=/p"]) {
      const error: unknown = await settle(`--proxy-option=${option}`).catch((thrown: unknown) => thrown);
      expect(error).to.have.property("code", "OPTION_INVALID");
      expect(String(error)).to.include("--redis-secret r").and.include(option.split("=")[0]);
    }
    const { options, redis } = await settle("--proxy-option=backplane-ca-file=/ca,backplane-lease=7s");
    expect(options).to.have.all.keys("backplane-ca-file", "backplane-lease");
    expect(redis?.name).to.equal("r");
  });

  it("follow each option of sidecars and sources", async () => {
    const options = await read(
      "--sidecar-port=1",
      "--sidecar-management-port=2",
      "--sidecar-socket-path=/s",
      "--sidecar-evaluator=e",
      "--sidecar-provider-args=a=1",
      "--sidecar-sync-provider=flagd-proxy",
      "--sidecar-log-format=console",
      "--sidecar-env-var-prefix=P",
      "--sidecar-probes-enabled=false",
      "--sidecar-cpu-request=",
      "--sidecar-cpu-limit=1",
      "--sidecar-ram-request=2Mi",
      "--sidecar-ram-limit=3Mi",
      "--image-pull-secrets=one",
      "--application-env=stock",
      "--host-network-pods=inject",
      "--cross-namespace=deny",
      "--provider-kubernetes=direct",
    );
    expect(sourceSettings(options)).to.deep.include({
      crossNamespace: "deny",
      providerKubernetes: "direct",
      defaults: {
        port: 1,
        managementPort: 2,
        socketPath: "/s",
        evaluator: "e",
        syncProviderArgs: ["a=1"],
        defaultSyncProvider: "flagd-proxy",
        logFormat: "console",
        envVarPrefix: "P",
        probesEnabled: false,
      },
    });
    expect(sidecarSettings(options, "1.2.3")).to.deep.include({
      resources: { requests: { memory: "2Mi" }, limits: { cpu: "1", memory: "3Mi" } },
      imagePullSecrets: ["one"],
      applicationEnv: "stock",
      hostNetworkPods: "inject",
    });
  });

  it("follow each option of Flagds, which have the resources of sidecars", async () => {
    const options = await read(
      "--flagd-image=registry.example/f",
      "--flagd-tag=v9",
      "--flagd-port=1",
      "--flagd-ofrep-port=2",
      "--flagd-sync-port=3",
      "--flagd-management-port=4",
      "--sidecar-ram-limit=3Mi",
      "--labels=team:a",
      "--annotations=note:b",
      "--image-pull-secrets=one",
    );
    expect(flagdSettings(options, "1.2.3")).to.deep.equal({
      image: "registry.example/f:v9",
      ports: { evaluation: 1, ofrep: 2, sync: 3, management: 4 },
      resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "3Mi" } },
      pod: { labels: { team: "a" }, annotations: { note: "b" }, imagePullSecrets: ["one"] },
    });
    expect(flagdSettings(await read(), "1.2.3").image).to.equal("ghcr.io/bunting/bunting-agent:1.2.3");
  });

  it("follow each option of applications that evaluate in process", async () => {
    const options = await read(
      "--in-process-host=h",
      "--in-process-port=1",
      "--in-process-socket-path=/s",
      "--in-process-tls",
      "--in-process-offline-flag-source-path=/f",
      "--in-process-selector=a/b",
      "--in-process-cache=disabled",
      "--in-process-cache-max-size=2",
      "--in-process-env-var-prefix=P",
    );
    expect(sourceSettings(options).inProcessDefaults).to.deep.equal({
      host: "h",
      port: 1,
      socketPath: "/s",
      tls: true,
      offlineFlagSourcePath: "/f",
      selector: "a/b",
      cache: "disabled",
      cacheMaxSize: 2,
      envVarPrefix: "P",
    });
  });

  it("are refused with what is no image: Pods with some such texts would be refused", async () => {
    const made = { proxy: proxySettings, sidecar: sidecarSettings, flagd: flagdSettings };
    for (const [part, settings] of Object.entries(made))
      for (const [image, tag] of [
        ["registry.example/a ", ""],
        ["registry.example/A", "1"],
        ["registry.example/a", "1/2"],
        ["registry.example/a:1", "2"],
        ["registry.example/a", "sha256:12"],
        ["a\n", "1"],
        ["a".repeat(5_000), "1"],
      ] as const) {
        const options = await read(`--${part}-image`, image, `--${part}-tag`, tag);
        expect(() => settings(options, "1.2.3"), `${part} ${image}`).to.throw(
          OperatorError,
          `--${part}-image and --${part}-tag make`,
        );
      }
  });
});
