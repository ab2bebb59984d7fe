import type {
  FeatureFlagSource,
  FeatureFlagSourceSpec,
  InProcessConfiguration,
  InProcessConfigurationSpec,
} from "@bunting/featureflags/resources";
import { expect } from "chai";
import type { InjectionEntry } from "../api/injection.js";
import type { Container } from "../api/pod-manifest.js";
import type { SourceRules, Unkept } from "../sources/source-plan.js";
import type { SourceProblem } from "../sources/source-problem.js";
import { compileInjection, type CompiledInjection, type InjectionInputs } from "./injection.js";
import type { SidecarSettings } from "./sidecar-settings.js";

const settings: SidecarSettings = {
  image: "registry.example/agent:1.2",
  resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } },
  imagePullSecrets: ["pull"],
  applicationEnv: "connection",
  hostNetworkPods: "skip",
  proxyAccess: "plain",
};
const rules: SourceRules & InjectionInputs["rules"] = {
  namespace: "shop",
  crossNamespace: "consent",
  providerKubernetes: "proxy",
  proxyAddress: "proxy:8015",
  defaults: {},
  inProcessDefaults: {},
};
const proxied = { sources: [{ source: "limits", provider: "flagd-proxy" }] };

interface Given {
  readonly sources?: Readonly<Record<string, FeatureFlagSourceSpec>>;
  readonly inProcess?: Readonly<Record<string, InProcessConfigurationSpec>>;
  readonly settings?: Partial<SidecarSettings>;
  readonly rules?: Partial<SourceRules>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly texts?: readonly string[];
  readonly inProcessTexts?: readonly string[];
  readonly offered?: readonly string[];
  readonly isExtended?: boolean;
  /** Of sources whose name begins with s. */
  readonly unkept?: SourceProblem;
}

function compile(given: Given): CompiledInjection {
  const metadata = { namespace: "shop", name: "" };
  const apiVersion = "core.openfeature.dev/v1beta1" as const;
  const find = (key: string): (FeatureFlagSource & Unkept) | undefined => {
    const spec = given.sources?.[key.replace("shop/", "")];
    const { unkept } = given;
    const source = spec && ({ apiVersion, kind: "FeatureFlagSource", metadata, spec } as const);
    return source && unkept !== undefined && key.startsWith("shop/s") ? { ...source, unkept } : source;
  };
  const inProcess = (key: string): InProcessConfiguration | undefined => {
    const spec = given.inProcess?.[key.replace("shop/", "")];
    return spec && { apiVersion, kind: "InProcessConfiguration", metadata, spec };
  };
  return compileInjection(
    {
      namespace: { name: "shop", annotations: given.annotations ?? {} },
      catalogue: {
        featureFlagSource: find,
        flagReaders: () => undefined,
        inProcessConfiguration: inProcess,
      },
      rules: { ...rules, ...given.rules },
      settings: { ...settings, ...given.settings },
    },
    {
      sources: given.texts ?? Object.keys(given.sources ?? {}),
      inProcess: given.inProcessTexts ?? Object.keys(given.inProcess ?? {}),
      offered: { sources: new Set(given.offered), inProcess: new Set(given.offered) },
    },
    { isExtended: given.isExtended ?? false },
  );
}

/** The entry of one FeatureFlagSource with these fields. */
function entryOf(spec: Partial<FeatureFlagSourceSpec> = {}, over: Given = {}): InjectionEntry {
  const entry = compile({ ...over, sources: { a: { ...proxied, ...spec } } }).injection?.spec.sources["a"];
  if (entry === undefined) throw new Error("no entry");
  return entry;
}

function containerOf(spec: Partial<FeatureFlagSourceSpec> = {}, over: Given = {}): Container {
  const { container } = entryOf(spec, over);
  if (container === undefined) throw new Error("no container");
  return container;
}

const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

describe("compileInjection", () => {
  it("makes one object of a namespace with an entry for each text, in order", () => {
    const { injection, sources } = compile({ sources: { b: proxied, a: proxied }, inProcess: { c: {} } });
    expect(injection).to.deep.include({
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Injection",
      metadata: { name: "bunting", namespace: "shop" },
    });
    expect(injection?.spec.format).to.equal(1);
    expect(Object.keys(injection?.spec.sources ?? {})).to.deep.equal(["a", "b"]);
    expect(Object.keys(injection?.spec.inProcess ?? {})).to.deep.equal(["c"]);
    expect([...sources.keys()]).to.deep.equal(["b", "a"]);
    expect(sources.get("a")?.plan?.sources.map(({ way }) => way)).to.deep.equal(["proxy"]);
  });

  it("makes none where no text has an entry", () => {
    expect(compile({}).injection).to.equal(undefined);
    const { injection, sources } = compile({ texts: ["a"] });
    expect(injection).to.equal(undefined);
    expect(sources.get("a")?.problems.map(({ reason }) => reason)).to.deep.equal(["NotFound"]);
  });

  it("compiles texts that name several sources, exactly as they are written", () => {
    const { injection } = compile({
      sources: { a: proxied, b: { ...proxied, port: 1 } },
      texts: ["a , b", "a"],
    });
    expect(Object.keys(injection?.spec.sources ?? {})).to.deep.equal(["a", "a , b"]);
    expect(injection?.spec.sources["a , b"]?.container?.args?.slice(3, 5)).to.deep.equal(["--port", "1"]);
  });

  it("has a whole sidecar in each entry", () => {
    const { container, guaranteed, ...rest } = entryOf();
    expect(container).to.deep.include({
      name: "flagd",
      image: "registry.example/agent:1.2",
      imagePullPolicy: "IfNotPresent",
      restartPolicy: "Always",
      ports: [
        { name: "management", containerPort: 8014 },
        { name: "flagd", containerPort: 8013 },
      ],
      resources: settings.resources,
      securityContext: {
        capabilities: { drop: ["ALL"] },
        privileged: false,
        runAsUser: 65532,
        runAsGroup: 65532,
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        seccompProfile: { type: "RuntimeDefault" },
      },
      startupProbe: {
        httpGet: { path: "/healthz", port: 8014, scheme: "HTTP" },
        periodSeconds: 1,
        failureThreshold: 30,
      },
      readinessProbe: { httpGet: { path: "/readyz", port: 8014, scheme: "HTTP" }, periodSeconds: 2 },
      livenessProbe: {
        httpGet: { path: "/healthz", port: 8014, scheme: "HTTP" },
        timeoutSeconds: 5,
        failureThreshold: 6,
      },
      volumeMounts: [{ name: "bunting-cache", mountPath: "/var/cache/bunting" }],
    });
    expect(container?.args?.[0]).to.equal("start");
    expect(container?.env?.map(({ name }) => name)).to.include("BUNTING_START_WAIT");
    const limits = { cpu: "20m", memory: "64Mi" };
    expect(guaranteed).to.deep.equal({ ...container, resources: { requests: limits, limits } });
    expect(rest).to.deep.include({
      revision: "1.2",
      volumes: [{ name: "bunting-cache", emptyDir: { sizeLimit: "64Mi" } }],
      mounts: [],
      imagePullSecrets: ["pull"],
      annotations: { [evictable]: "bunting-cache" },
    });
    expect(rest.env.map(({ name }) => name)).to.deep.equal(["FLAGD_RESOLVER", "FLAGD_HOST", "FLAGD_PORT"]);
  });

  it("says of which sources it is, whatever the operator adds to them", () => {
    const { origin } = entryOf({});
    expect(origin).to.match(/^[0-9a-f]{16}$/);
    expect(entryOf({}, { settings: { image: "agent:2", imagePullSecrets: [] } }).origin).to.equal(origin);
    expect(entryOf({ rolloutOnChange: true, syncProviderArgs: ["a=b"] }).origin).to.equal(origin);
    expect(entryOf({ debugLogging: true }).origin).to.not.equal(origin);
    expect(entryOf({ sources: [{ source: "other", provider: "flagd-proxy" }] }).origin).to.not.equal(origin);
  });

  it("has no probes where a source wants none", () => {
    const probes = Object.keys(containerOf({ probesEnabled: false })).filter((name) =>
      name.endsWith("Probe"),
    );
    expect(probes).to.deep.equal([]);
  });

  it("leaves the user to OpenShift where it chooses one", () => {
    const annotations = { "openshift.io/sa.scc.uid-range": "1000/10000" };
    const { securityContext } = containerOf({}, { annotations });
    expect(securityContext).to.not.have.any.keys("runAsUser", "runAsGroup");
    expect(securityContext).to.have.property("runAsNonRoot", true);
  });

  it("gives the sidecar an identity where the proxy wants one, and only if it is asked", () => {
    const secured = { settings: { proxyAccess: "secured" } } as const;
    const volumes = (entry: InjectionEntry): unknown => entry.volumes.map(({ name }) => name);
    expect(volumes(entryOf({}, secured))).to.deep.equal(["bunting-cache", "bunting-identity"]);
    expect(containerOf({}, secured).env?.map(({ name }) => name)).to.include("BUNTING_TOKEN_FILE");
    const remote = { sources: [{ source: "https://flags.example/f.json", provider: "http" }] };
    expect(volumes(entryOf(remote, secured))).to.deep.equal(["bunting-cache"]);
  });

  it("goes into Pods on the network of their node only if it is asked", () => {
    expect(entryOf({})).to.not.have.property("hostNetwork");
    expect(entryOf({}, { settings: { hostNetworkPods: "inject" } })).to.include({ hostNetwork: true });
  });

  it("serves the port alone where the socket can't be, and says so", () => {
    const { sources } = compile({ sources: { a: { ...proxied, socketPath: "/tmp/flagd.sock" } } });
    const { entry, problems } = sources.get("a") ?? {};
    expect(entry?.mounts).to.deep.equal([]);
    expect(JSON.stringify(entry)).to.not.contain("SOCKET_PATH");
    expect(problems?.[0]?.message).to.contain("/tmp/flagd.sock");
    expect(entryOf({ socketPath: "/run/of/s.sock" }).mounts).to.deep.equal([
      { name: "bunting-socket", mountPath: "/run/of" },
    ]);
  });

  it("marks Pods whose sources have the provider kubernetes, also if the proxy serves them", () => {
    const sources = [{ source: "limits", provider: "kubernetes" }];
    for (const providerKubernetes of ["proxy", "direct"] as const)
      expect(entryOf({ sources }, { rules: { providerKubernetes } }).annotations).to.deep.equal({
        [evictable]: "bunting-cache",
        "openfeature.dev/allowkubernetessync": "true",
      });
  });

  it("tells the cluster autoscaler that the volumes of the sidecar do not hold a node", () => {
    const { annotations } = entryOf({
      socketPath: "/run/of/s.sock",
      sources: [{ source: "limits", provider: "file" }],
    });
    expect(annotations).to.deep.equal({ [evictable]: "bunting-cache,bunting-socket" });
  });

  it("mounts FeatureFlags that are read as files", () => {
    const { volumes, container } = entryOf({ sources: [{ source: "limits", provider: "file" }] });
    expect(volumes.map(({ name }) => name.slice(0, 14))).to.deep.equal(["bunting-cache", "bunting-flags-"]);
    expect(container?.volumeMounts?.map(({ mountPath }) => mountPath)).to.include("/etc/flagd/shop_limits");
  });

  for (const [what, spec, says] of [
    ["two services on one port", { port: 8014 }, "managementPort: 8014 is port as well"],
    ["a port of flagd.sync", { ofrepPort: 8015 }, "ofrepPort: 8015 is the port of flagd.sync as well"],
    ["a port that is none", { managementPort: 70_000 }, "managementPort: 70000 is no port"],
    [
      "a port that is none beside a socket",
      { port: 70_000, socketPath: "/run/of/s.sock" },
      "port: 70000 is no",
    ],
    [
      "two services on one port, for want of a socket",
      { port: 8014, socketPath: "/tmp/flagd.sock" },
      "managementPort: 8014 is port as well",
    ],
  ] as const)
    it(`refuses a text with ${what}, with which no container behind the sidecar would start`, () => {
      const { injection, sources } = compile({ sources: { a: { ...proxied, ...spec } } });
      expect(injection).to.equal(undefined);
      expect(sources.get("a")?.problems.at(-1)?.message).to.contain(says);
      expect(sources.get("a")?.plan).to.equal(undefined);
    });

  it("refuses what is too long to be started with", () => {
    const part = "x".repeat(128 * 1024);
    for (const spec of [{ contextValues: { a: part } }, { envVars: [{ name: "A", value: part }] }]) {
      const { problems, entry } = compile({ sources: { a: { ...proxied, ...spec } } }).sources.get("a") ?? {};
      expect(entry).to.equal(undefined);
      expect(problems?.map(({ reason }) => reason)).to.deep.equal(["InvalidSetting"]);
    }
  });

  it("takes every port that there is", () => {
    expect(containerOf({ port: 1, managementPort: 65_535 }).name).to.equal("flagd");
    const { sources } = compile({ sources: { a: proxied }, rules: { defaults: { port: 0 } } });
    expect(sources.get("a")?.problems[0]?.message).to.contain("port: 0 is no port");
  });

  it("needs no port of its own for evaluations where there is a socket", () => {
    expect(containerOf({ port: 8014, socketPath: "/run/of/s.sock" }).name).to.equal("flagd");
  });

  it("collects the problems of every stage", () => {
    const spec = {
      sources: [...proxied.sources, { source: "x", provider: "consul" }],
      logFormat: "xml",
      resources: { limits: { gpu: "1" } },
      socketPath: "/tmp/s",
    };
    const { problems } = compile({ sources: { a: spec } }).sources.get("a") ?? {};
    expect(problems).to.have.length(4);
  });

  describe("the digest", () => {
    it("is the same for equal entries, whatever the order of fields, and another for others", () => {
      const { digest } = entryOf({ contextValues: { a: "1", b: "2" }, port: 7 });
      expect(digest).to.match(/^[0-9a-f]{16}$/);
      expect(entryOf({ port: 7, contextValues: { b: "2", a: "1" } }).digest).to.equal(digest);
      expect(entryOf({ port: 7 }).digest).to.not.equal(digest);
      expect(entryOf({}, { settings: { image: "agent:2" } }).digest).to.not.equal(entryOf().digest);
      expect(entryOf({}, { settings: { imagePullSecrets: [] } }).digest).to.not.equal(entryOf().digest);
    });
  });

  describe("in process", () => {
    const env = (spec: InProcessConfigurationSpec): unknown =>
      compile({ inProcess: { a: spec } }).injection?.spec.inProcess?.["a"]?.env;

    it("gives variables only, in the open-feature-operator's order", () => {
      const entry = compile({ inProcess: { a: {} } }).injection?.spec.inProcess?.["a"];
      expect(entry).to.not.have.any.keys("container", "guaranteed");
      expect(entry).to.deep.include({ revision: "", volumes: [], mounts: [], imagePullSecrets: [] });
      expect(entry?.env.map(({ name, value }) => `${name}=${value}`)).to.deep.equal([
        "FLAGD_HOST=localhost",
        "FLAGD_PORT=8015",
        "FLAGD_TLS=false",
        "FLAGD_CACHE=lru",
        "FLAGD_MAX_CACHE_SIZE=1000",
        "FLAGD_RESOLVER=in-process",
      ]);
    });

    it("puts a source's own variables first, the last of them foremost", () => {
      const spec = {
        envVarPrefix: "MY",
        envVars: [
          { name: "name1", value: "value1" },
          { name: "name2", value: "value2" },
        ],
        socketPath: "/s",
        offlineFlagSourcePath: "/f.json",
        selector: "core.openfeature.dev/shop/limits",
      };
      const variables = env(spec) as readonly { readonly name: string }[];
      expect(variables.map(({ name }) => name)).to.deep.equal([
        "MY_name2",
        "MY_name1",
        ...["MY_HOST", "MY_PORT", "MY_TLS", "MY_CACHE", "MY_MAX_CACHE_SIZE", "MY_RESOLVER"],
        ...["MY_SOCKET_PATH", "MY_OFFLINE_FLAG_SOURCE_PATH", "MY_SOURCE_SELECTOR"],
      ]);
    });

    it("gives each container of a Pod the variables of all that it names, under the last prefix", () => {
      const inProcess = {
        shared: {
          ...{ tls: true, offlineFlagSourcePath: "/f.json", cacheMaxSize: 11, envVarPrefix: "FIRST" },
          envVars: [
            { name: "name1", value: "value1" },
            { name: "name2", value: "value2" },
          ],
        },
        own: { envVarPrefix: "SECOND", host: "flags.example" },
      };
      const text = "shared,own";
      const { env } = compile({ inProcess, inProcessTexts: [text] }).injection?.spec.inProcess?.[text] ?? {};
      expect(env?.map(({ name, value }) => `${name}=${value}`)).to.deep.equal([
        ...["SECOND_name2=value2", "SECOND_name1=value1", "SECOND_HOST=flags.example", "SECOND_PORT=8015"],
        ...["SECOND_TLS=true", "SECOND_CACHE=lru", "SECOND_MAX_CACHE_SIZE=11", "SECOND_RESOLVER=in-process"],
        "SECOND_OFFLINE_FLAG_SOURCE_PATH=/f.json",
      ]);
    });
  });

  describe("of many texts", () => {
    const part = "x".repeat(100_000);
    const large = { ...proxied, contextValues: { a: part, b: part } };

    it("compiles the first 200, and says of the others who serves them", () => {
      const names = Array.from({ length: 202 }, (_, index) => `s${index}`);
      const { injection, sources } = compile({
        sources: Object.fromEntries(names.map((name) => [name, proxied])),
      });
      expect(Object.keys(injection?.spec.sources ?? {})).to.have.members(names.slice(0, 200));
      for (const name of names.slice(200)) {
        expect(sources.get(name)?.problems.map(({ reason }) => reason)).to.deep.equal(["TooLarge"]);
        expect(sources.get(name)?.plan, "the proxy is still needed").to.not.equal(undefined);
      }
    });

    describe("where extensions are asked", () => {
      const many = (count: number): Readonly<Record<string, FeatureFlagSourceSpec>> =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, proxied]));

      it("has room for the others in further objects, and says that these are for the webhook", () => {
        const sources = many(250);
        const compiled = compile({ sources, isExtended: true });
        const all = [compiled.injection, ...compiled.further];
        expect(all.map((each) => each?.metadata.name)).to.deep.equal(["bunting", "bunting-1"]);
        const texts = all.map((each) => Object.keys(each?.spec.sources ?? {}).length);
        expect(texts).to.deep.equal([200, 50]);
        const { entry, problems } = compiled.sources.get("s249") ?? {};
        expect(entry).to.not.equal(undefined);
        expect(problems?.map(({ message }) => message)).to.match(/from the webhook only/);
        expect(compile({ sources }).further, "without extensions").to.deep.equal([]);
      });

      it("says of what it has no room for that no extension is asked about it", () => {
        const { further, sources } = compile({ sources: many(402), isExtended: true });
        expect(further.flatMap(({ spec }) => Object.keys(spec.sources))).to.have.length(200);
        for (const name of ["s400", "s401"]) {
          const { entry, problems } = sources.get(name) ?? {};
          expect(entry).to.equal(undefined);
          expect(problems?.map(({ message }) => message)).to.match(/more than 400 texts.*are not asked/);
        }
        const nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((name) => [name, large] as const);
        const { sources: huge } = compile({ sources: Object.fromEntries(nine), isExtended: true });
        const said = [...huge.values()].map(({ problems: [problem] }) => problem?.message ?? "");
        expect(
          said.filter((message) => message.includes("3600 KB")),
          "by their size",
        ).to.not.be.empty;
      });

      it("counts what is refused, and says of each text what became of it in the round that counts", () => {
        const refusal = "the extension owner refuses it";
        const texts = { sources: Object.keys(many(250)), inProcess: [] };
        const inputs = { namespace: { name: "shop" }, catalogue: { featureFlagSource: () => undefined } };
        const { injection, further, sources } = compileInjection(
          inputs as unknown as InjectionInputs,
          texts,
          {
            isExtended: true,
            compileText: () => ({ entry: undefined, plan: undefined, problems: [], refusal }),
          },
        );
        expect(Object.keys(injection?.spec.refused?.sources ?? {})).to.have.length(200);
        expect(Object.keys(further[0]?.spec.refused?.sources ?? {})).to.have.length(50);
        expect([...sources.values()].flatMap(({ problems }) => problems)).to.deep.equal([]);
      });
    });

    it("says of a source that is not kept in memory why, and has turns for the others", () => {
      const unkept = { reason: "TooLarge", message: "no room" } as const;
      const names = Array.from({ length: 402 }, (_, i) => `s${i}`);
      const of = Object.fromEntries(names.map((name) => [name, proxied]));
      const { injection, sources } = compile({ sources: { ...of, z: proxied }, unkept });
      for (const name of ["s0", "s401"]) expect(sources.get(name)?.problems).to.deep.equal([unkept]);
      expect(Object.keys(injection?.spec.sources ?? {}), "what is kept").to.deep.equal(["z"]);
    });

    it("tries no more than 400, refused ones included", () => {
      const names = Array.from({ length: 402 }, (_, index) => `s${index}`);
      const { injection, sources } = compile({ sources: { s401: proxied }, texts: names });
      expect(injection).to.equal(undefined);
      const reasonOf = (name: string): unknown => sources.get(name)?.problems[0]?.reason;
      expect(["s399", "s400", "s401"].map(reasonOf)).to.deep.equal(["NotFound", "TooLarge", "TooLarge"]);
    });

    it("compiles no more than an object can hold, and what is smaller after what is too large", () => {
      const { injection } = compile({ sources: { a: large, b: large, c: large, d: proxied } });
      expect(Object.keys(injection?.spec.sources ?? {})).to.deep.equal(["a", "b", "d"]);
    });

    it("gives little room to what was only offered, however much that is", () => {
      const names = Array.from({ length: 30 }, (_, index) => `s${index}`);
      const small = Object.fromEntries(names.map((name) => [name, proxied]));
      const textsOf = (given: Given): string[] =>
        Object.keys(compile({ ...given, offered: names }).injection?.spec.sources ?? {});
      expect(textsOf({ sources: small })).to.have.members(names.slice(0, 20));
      const asked = Object.fromEntries(Array.from({ length: 180 }, (_, index) => [`asked${index}`, proxied]));
      expect(textsOf({ sources: { ...small, ...asked } })).to.have.length(200);
      expect(textsOf({ sources: { s0: large, s1: proxied, asked: large } })).to.have.members(["s1", "asked"]);
    });

    it("compiles nothing more after much that does not fit", () => {
      const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
      const { sources } = compile({ sources: { ...Object.fromEntries(names.map((name) => [name, large])) } });
      expect(names.filter((name) => sources.get(name)?.plan !== undefined)).to.have.length(9);
    });
  });
});
