import { ClusterWatches, connectCluster, type ConnectedCluster } from "@bunting/kube";
import { ClusterSources } from "@bunting/operator/internal/controllers/injection/cluster-sources.js";
import { InjectionController } from "@bunting/operator/internal/controllers/injection/injection-controller.js";
import { SeenTexts } from "@bunting/operator/internal/controllers/injection/seen-texts.js";
import { SourceStatusController } from "@bunting/operator/internal/controllers/injection/source-status-controller.js";
import { SourceUsage } from "@bunting/operator/internal/controllers/injection/source-usage.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import type { CrossNamespace } from "@bunting/operator/internal/sources/consent.js";
import { createLogger, createRegistry, systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { ManualClock } from "../support/manual-clock.js";
import { scaled } from "../support/scale.js";
import type { ApiList, ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { inParallel } from "./support/in-parallel.js";
import { sharedCluster } from "./support/use-cluster.js";

interface Entry {
  readonly digest: string;
  readonly container?: { readonly args: readonly string[] };
  readonly env: readonly { readonly name: string }[];
}

interface InjectionObject extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly sources: Readonly<Record<string, Entry>>;
    readonly inProcess: Readonly<Record<string, Entry>>;
  };
}

/** A controller that runs, as it does on a leader. */
interface Leading {
  readonly seen: SeenTexts;
  readonly sources: ClusterSources;
  /** Namespaces that use the proxy; with `complete` once all have been heard of. */
  readonly proxyUsers: Set<string>;
  /** By namespace, the names of FeatureFlags that are read as files. */
  readonly files: Map<string, readonly string[]>;
  readonly stop: () => Promise<void>;
  /** The same process leads once more. */
  readonly again: () => void;
}

const core = "/apis/core.openfeature.dev/v1beta1";
const proxied = { sources: [{ source: "limits", provider: "flagd-proxy" }] };

describe("Injections on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  let namespace: string;
  let connected: ConnectedCluster;
  let abort: AbortController;
  let running: Promise<unknown>[];

  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    connected = await connectCluster(choice, { program: "bunting-test/0.0.0", clock: systemClock, env: {} });
    abort = new AbortController();
    running = [connected.connections.run(abort.signal)];
  });

  afterEach(async () => {
    abort.abort();
    await Promise.all(running);
  });

  function lead({
    clock = systemClock,
    crossNamespace = "consent",
    beforeWrite = () => Promise.resolve(),
  }: {
    readonly clock?: Clock;
    readonly crossNamespace?: CrossNamespace;
    readonly beforeWrite?: () => Promise<void>;
  } = {}): Leading {
    const metrics = operatorMetrics(createRegistry(false));
    const reflected = { relist: () => undefined, event: () => undefined, error: () => undefined };
    const watches = new ClusterWatches({
      client: connected.client,
      context: { clock: systemClock, logger, metrics: reflected },
    });
    const sources = new ClusterSources(watches, {
      rules: {
        crossNamespace,
        providerKubernetes: "proxy",
        proxyAddress: "flagd-proxy-svc.flags.svc.cluster.local:8015",
        defaults: {},
        inProcessDefaults: {},
      },
      sidecar: {
        image: "registry.example/agent:1",
        resources: {},
        imagePullSecrets: [],
        applicationEnv: "connection",
        hostNetworkPods: "skip",
        proxyAccess: "plain",
      },
    });
    const seen = new SeenTexts(200);
    const proxyUsers = new Set<string>();
    const files = new Map<string, readonly string[]>();
    const context = { clock, logger, metrics };
    const status = new SourceStatusController({
      client: connected.client,
      sources,
      usage: new SourceUsage(),
      context,
    });
    const { client } = connected;
    const controller = new InjectionController({
      cluster: {
        client: {
          get: (...args) => client.get(...args),
          delete: (...args) => client.delete(...args),
          apply: (...args) => beforeWrite().then(() => client.apply(...args)),
        },
        watches,
      },
      sources,
      seen,
      context,
      news: {
        compiled: (list, key, outcome) => status.compiled(list, key, outcome),
        usesProxy: (user, isUsing) => {
          if (isUsing) proxyUsers.add(user);
          else proxyUsers.delete(user);
        },
        needs: (user, needs) =>
          files.set(
            user,
            needs.files.map(({ name }) => name),
          ),
        complete: () => proxyUsers.add("complete"),
      },
    });
    running.push(sources.run(abort.signal));
    let leaving: AbortController;
    let work: Promise<unknown>;
    const again = (): void => {
      leaving = new AbortController();
      const signal = AbortSignal.any([abort.signal, leaving.signal]);
      work = Promise.all([status, controller].map((each) => each.run(signal)));
      running.push(work);
    };
    const stop = async (): Promise<void> => {
      leaving.abort();
      await work;
    };
    again();
    return { seen, sources, proxyUsers, files, stop, again };
  }

  const path = (plural: string, name = "", of = namespace): string =>
    `${core}/namespaces/${of}/${plural}${name === "" ? "" : `/${name}`}`;
  const injectionPath = (of = namespace): string =>
    `/apis/bunting.dev/v1alpha1/namespaces/${of}/injections/bunting`;

  function put(
    kind: string,
    name: string,
    spec: object,
    of = namespace,
    readers?: string,
  ): Promise<ApiObject> {
    const annotations = readers === undefined ? {} : { "bunting.dev/readers": readers };
    const object = {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind,
      metadata: { name, namespace: of, annotations },
      spec,
    };
    return cluster().api.apply(path(`${kind.toLowerCase()}s`, name, of), object);
  }

  async function injection(of = namespace): Promise<InjectionObject | undefined> {
    const { status, text } = await cluster().api.request("GET", injectionPath(of));
    return status === 404 ? undefined : (JSON.parse(text) as InjectionObject);
  }

  /** The Injection, once it is as it should be. */
  async function until(
    isRight: (injection: InjectionObject) => boolean,
    what: string,
    of = namespace,
  ): Promise<InjectionObject> {
    let found: InjectionObject | undefined;
    await eventually(async () => {
      found = await injection(of);
      return found !== undefined && isRight(found);
    }, what);
    if (found === undefined) throw new Error("there is none");
    return found;
  }

  const texts = ({ spec }: InjectionObject): string => Object.keys(spec.sources).join(" ");

  it("are made of the sources of a namespace, follow them, and go with the last", async () => {
    const leading = lead();
    await put("FeatureFlagSource", "a", proxied);
    await put("InProcessConfiguration", "c", {});
    // The API server lets it have no spec; it must not keep the others from being compiled.
    await cluster().api.create(path("featureflagsources"), {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name: "bare" },
    });
    const made = await until(({ spec }) => "a" in spec.sources && "c" in spec.inProcess, "both are compiled");
    expect(made.spec.sources["a"]?.container?.args).to.include(
      `[{"uri":"flagd-proxy-svc.flags.svc.cluster.local:8015","provider":"grpc","selector":"core.openfeature.dev/${namespace}/limits"}]`,
    );
    // It is told once the Injection is written; and namespaces of other tests are compiled as well.
    await eventually(() => leading.proxyUsers.has(namespace), "the namespace uses the proxy");
    await eventually(() => leading.proxyUsers.has("complete"), "all namespaces are compiled");
    const sources = [...proxied.sources, { source: "on-disk", provider: "file" }];
    await put("FeatureFlagSource", "a", { sources, port: 9013 });
    await until(({ spec }) => spec.sources["a"]?.container?.args.includes("9013") === true, "the edit");
    await eventually(() => leading.files.get(namespace)?.join() === "on-disk", "the file is asked for");
    await cluster().api.delete(path("featureflagsources", "a"));
    await until((object) => texts(object) === "", "the source is gone");
    await cluster().api.delete(path("inprocessconfigurations", "c"));
    await eventually(async () => (await injection()) === undefined, "there is nothing left to inject");
    await eventually(() => !leading.proxyUsers.has(namespace), "the namespace uses the proxy no more");
  });

  it("keep nobody waiting where one of them can't be written, because of a quota for instance", async () => {
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
    const hard = { "count/injections.bunting.dev": "0" };
    await cluster().api.create(quotas, { metadata: { name: "none" }, spec: { hard } });
    // As the controller of quotas does.
    await cluster().api.request("PATCH", `${quotas}/none/status`, {
      contentType: "application/merge-patch+json",
      body: { status: { hard, used: { "count/injections.bunting.dev": "0" } } },
    });
    await put("FeatureFlagSource", "a", proxied);
    const refused = async (): Promise<string> =>
      (
        await cluster().api.request("POST", `${injectionPath().replace(/\/bunting$/, "")}?dryRun=All`, {
          body: { apiVersion: "bunting.dev/v1alpha1", kind: "Injection", metadata: { name: "bunting" } },
        })
      ).text;
    await eventually(async () => (await refused()).includes("exceeded quota"), "the quota holds");
    const leading = lead();
    await eventually(() => leading.proxyUsers.has("complete"), "all namespaces are compiled");
    expect(leading.proxyUsers.has(namespace)).to.equal(true);
    expect(await injection()).to.equal(undefined);
    await eventually(async () => {
      const { status } = await cluster().api.get(path("featureflagsources", "a"));
      return JSON.stringify(status ?? {}).includes("exceeded quota");
    }, "the source says why Pods get nothing of it by the policy");
    await cluster().api.delete(`${quotas}/none`);
    await until((object) => texts(object) === "a", "it is written once it may be");
  });

  it("have the texts that were seen on Pods, also for the next leader", async () => {
    const first = lead();
    await put("FeatureFlagSource", "a", proxied);
    await put("FeatureFlagSource", "b", { ...proxied, port: 9013 });
    first.seen.add(namespace, "sources", "a , b");
    await until((object) => texts(object) === "a a , b b", "the combination");
    await first.stop();
    const before = await injection();
    lead();
    const after = await until(
      ({ metadata }) => metadata.resourceVersion !== before?.metadata.resourceVersion,
      "the next leader has written",
    );
    expect(texts(after)).to.equal("a a , b b");
    expect(after.spec).to.deep.equal(before?.spec);
    expect(after.metadata.annotations?.["bunting.dev/touched"]).to.not.equal(
      before?.metadata.annotations?.["bunting.dev/touched"],
    );
  });

  it("are known to be gone by a leader that has made them before, where another one has removed them since", async () => {
    const leading = lead();
    await put("FeatureFlagSource", "a", proxied);
    await eventually(() => leading.proxyUsers.has(namespace), "the namespace uses the proxy");
    await leading.stop();
    const other = lead();
    await cluster().api.delete(path("featureflagsources", "a"));
    await eventually(async () => (await injection()) === undefined, "the other one removes it");
    await other.stop();
    leading.again();
    await eventually(() => !leading.proxyUsers.has(namespace), "the namespace uses the proxy no more");
  });

  it("have sources of other namespaces while their owner shares them", async () => {
    lead();
    const owner = await cluster().createNamespace();
    const spec = { sources: [{ source: `${owner}/limits`, provider: "flagd-proxy" }] };
    await cluster().putFeatureFlag(owner, "limits", { flags: {} });
    await put("FeatureFlagSource", "shared", spec, owner, namespace);
    await until(({ spec: { sources } }) => "shared" in sources, "its own namespace has it", owner);
    // The FeatureFlag is not shared yet, so no source is left for the others.
    await put("FeatureFlagSource", "own", proxied);
    await until((object) => texts(object) === "own", "nothing foreign");
    const annotations = { "bunting.dev/readers": namespace };
    await cluster().api.patch(featureFlagPath(owner, "limits"), { metadata: { annotations } });
    await until(
      (object) => texts(object) === ["own", `${owner}/shared`].sort().join(" "),
      "the FeatureFlag is shared as well",
    );
    await put("FeatureFlagSource", "shared", spec, owner, "nobody");
    await until((object) => texts(object) === "own", "it is no longer shared");
  });

  it("of a source that is shared with many come after another namespace's own, however many there are", async () => {
    const other = await cluster().createNamespace();
    const readers = Array.from({ length: scaled(1_000, 60) }, (_, index) => `reader-${index}-${namespace}`);
    await inParallel(readers, (reader) => cluster().createNamespace(reader));
    const share = (value: string): Promise<ApiObject> =>
      put(
        "FeatureFlagSource",
        "shared",
        { ...proxied, envVars: [{ name: "V", value }] },
        namespace,
        readers.join(","),
      );
    /** The versions of the Injections that have this. */
    const compiled = async (value: string): Promise<readonly number[]> => {
      const { status, text } = await cluster().api.request("GET", "/apis/bunting.dev/v1alpha1/injections");
      // An API server that has just begun to serve the type answers 429.
      if (status !== 200) return [];
      const { items } = JSON.parse(text) as ApiList;
      const found = items.filter(({ metadata }) => metadata.namespace?.startsWith("reader-") === true);
      const having = found.filter(({ spec }) => JSON.stringify(spec).includes(value));
      return having.map(({ metadata }) => Number(metadata.resourceVersion));
    };
    const untilAllHave = (value: string): Promise<void> =>
      eventually(async () => (await compiled(value)).length === readers.length, `all have ${value}`, 90_000);
    let whenFree = Promise.resolve();
    const { sources } = lead({ beforeWrite: () => whenFree });
    await share("first-edit");
    await untilAllHave("first-edit");
    // Nothing is written until the operator has heard of both.
    let free: () => void = () => undefined;
    whenFree = new Promise((resolve) => (free = resolve));
    const heard = new Set<string>();
    sources.listen((each) => heard.add(each));
    await share("second-edit");
    await eventually(() => readers.every((reader) => heard.has(reader)), "the edit is heard of");
    await put("FeatureFlagSource", "own", proxied, other);
    await eventually(() => heard.has(other), "so is the other one");
    free();
    const { metadata } = await until((each) => texts(each) === "own", "the other namespace's", other);
    await untilAllHave("second-edit");
    const earlier = (await compiled("second-edit")).filter(
      (version) => version < Number(metadata.resourceVersion),
    );
    expect(earlier).to.have.length.below(readers.length / 2);
  });

  it("have nothing made for what is only shared with a namespace, also by the next leader, until a Pod names it", async () => {
    const first = lead();
    const owner = await cluster().createNamespace();
    const annotations = { "bunting.dev/readers": namespace };
    await cluster().putFeatureFlag(owner, "on-disk", { flags: {} }, { annotations });
    const spec = { sources: [{ source: `${owner}/on-disk`, provider: "file" }] };
    await put("FeatureFlagSource", "shared", spec, owner, namespace);
    const text = `${owner}/shared`;
    await until((object) => texts(object) === text, "it is offered");
    expect(first.files.get(namespace) ?? []).to.deep.equal([]);
    await first.stop();
    const { files, seen } = lead();
    await put("FeatureFlagSource", "own", proxied);
    await until(
      (object) => texts(object) === `${text} own` || texts(object) === `own ${text}`,
      "the next leader",
    );
    expect(files.get(namespace) ?? []).to.deep.equal([]);
    seen.add(namespace, "sources", text);
    await eventually(() => files.get(namespace)?.join() === "on-disk", "the file is asked for");
  });

  it("are put back if somebody else writes or deletes them", async () => {
    lead();
    await put("FeatureFlagSource", "a", proxied);
    const { spec } = await until(({ spec: { sources } }) => "a" in sources, "it is compiled");
    await cluster().api.patch(injectionPath(), {
      spec: { sources: { a: { container: { image: "evil" } } } },
    });
    await until((object) => JSON.stringify(object.spec) === JSON.stringify(spec), "it is put back");
    const { metadata } = await until(() => true, "it");
    await cluster().api.delete(injectionPath());
    await until((object) => object.metadata.uid !== metadata.uid, "it is made again");
  });

  it("are written at most once a second, with the last of the edits", async () => {
    const clock = new ManualClock();
    lead({ clock });
    await put("FeatureFlagSource", "a", proxied);
    const first = await until(({ spec }) => "a" in spec.sources, "it is compiled");
    for (const port of [9001, 9002, 9003]) await put("FeatureFlagSource", "a", { ...proxied, port });
    await eventually(() => clock.pendingTimers > 0, "the next write waits for its time");
    expect((await injection())?.metadata.resourceVersion).to.equal(first.metadata.resourceVersion);
    await eventually(async () => {
      clock.advance(1_000);
      return (await injection())?.spec.sources["a"]?.container?.args.includes("9003") === true;
    }, "the last edit is compiled");
    expect((await injection())?.metadata.generation).to.be.lessThan(4);
  });

  describe("tell the owner of a source", () => {
    interface Told {
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly observedGeneration: number;
    }

    /** The conditions of an object by type, once its last version is told of. */
    async function told(plural: string, name: string): Promise<Readonly<Record<string, Told>>> {
      let conditions: readonly (Told & { readonly type: string })[] = [];
      await eventually(async () => {
        const { metadata, status } = (await cluster().api.get(path(plural, name))) as ApiObject & {
          readonly status?: { readonly conditions?: typeof conditions };
        };
        conditions = status?.conditions ?? [];
        const isNew = conditions.every(
          ({ observedGeneration }) => observedGeneration === metadata.generation,
        );
        return conditions.length === 2 && isNew;
      }, `the conditions of ${name}`);
      return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
    }

    it("that it is compiled, and what Pods get", async () => {
      lead();
      await put("FeatureFlagSource", "a", proxied);
      await put("InProcessConfiguration", "c", {});
      const conditions = await told("featureflagsources", "a");
      expect(conditions["Accepted"]).to.include({ status: "True", reason: "Accepted" });
      expect(conditions["Compiled"]).to.include({ status: "True", reason: "Compiled" });
      const digest = (await injection())?.spec.sources["a"]?.digest;
      const { status } = await cluster().api.get(path("featureflagsources", "a"));
      expect(status).to.have.property("digest", digest);
      expect((await told("inprocessconfigurations", "c"))["Compiled"]?.status).to.equal("True");
    });

    it("what of it is not served, and why, and leaves conditions of others alone", async () => {
      const spec = {
        sources: [...proxied.sources, { source: "elsewhere/limits", provider: "flagd-proxy" }],
        socketPath: "/tmp/flagd.sock",
      };
      await put("FeatureFlagSource", "a", spec);
      const lastTransitionTime = "2026-01-01T00:00:00Z";
      const other = {
        type: "Other",
        status: "True",
        reason: "Available",
        message: "",
        lastTransitionTime,
      };
      await cluster().api.patch(`${path("featureflagsources", "a")}/status`, {
        status: { conditions: [other] },
      });
      lead();
      await eventually(async () => {
        const { status } = await cluster().api.get(path("featureflagsources", "a"));
        return (status as { conditions: unknown[] }).conditions.length === 3;
      }, "three conditions");
      const { status } = await cluster().api.get(path("featureflagsources", "a"));
      const conditions = (status as { readonly conditions: readonly (Told & { type: string })[] }).conditions;
      expect(conditions).to.deep.include(other);
      const accepted = conditions.find(({ type }) => type === "Accepted");
      expect(accepted).to.include({ status: "False", reason: "NotShared" });
      expect(accepted?.message).to.match(
        /^The FeatureFlag elsewhere\/limits .*; socketPath: \/tmp\/flagd\.sock/,
      );
      expect(conditions.find(({ type }) => type === "Compiled")?.status).to.equal("True");
    });

    it("that Pods get nothing, and why", async () => {
      lead();
      await put("FeatureFlagSource", "a", { sources: [{ source: "x" }], defaultSyncProvider: "consul" });
      const conditions = await told("featureflagsources", "a");
      expect(conditions["Accepted"]).to.include({ status: "False", reason: "UnknownProvider" });
      expect(conditions["Compiled"]).to.include({ status: "False", reason: "NoSources" });
      expect(await injection()).to.equal(undefined);
    });
  });
});
