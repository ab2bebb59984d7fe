import {
  Informer,
  KubeError,
  type ClusterWatches,
  type InformerOptions,
  type KubeObject,
} from "@bunting/kube";
import type { ObjectScope, ResourceScope, RunningInformer } from "@bunting/kube";
import { aborted, createRegistry, Signal } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { RolloutOnChange, type RolloutOnChangeOptions } from "./rollout-on-change.js";

const rolledOut = "bunting.dev/rolled-out";

/** A namespace with an Injection, and with Deployments whose Pods name the source `app`. */
class Namespace {
  readonly deployments = ["checkout"];
  /** Deployments that the API server does not let anybody change. */
  readonly refused = new Set<string>();
  readonly restarts: string[] = [];
  /** The annotations that were written on the Injection. */
  readonly written: string[] = [];
  /** Whether the watch tells of what is written there. */
  isHeard = true;
  #informer: Informer | undefined;
  #version = 0;

  readonly client: RolloutOnChangeOptions["client"] = {
    readPage: ({ type }, _query, onObject) => {
      const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "app" };
      const spec = { template: { metadata: { annotations } } };
      if (type.plural === "deployments")
        for (const name of this.deployments)
          onObject({ metadata: { namespace: "shop", name, uid: `${name}-1` }, spec });
      return Promise.resolve({ resourceVersion: "1", continueToken: undefined, items: 0, bytes: 0 });
    },
    patch: ({ name }: ObjectScope) => {
      if (this.refused.has(name)) return Promise.reject(new KubeError("FORBIDDEN", "a policy refuses it"));
      this.restarts.push(name);
      return Promise.resolve({ metadata: { name } });
    },
    apply: (_scope, object) => {
      const { uid = "", annotations = {} } = (object as KubeObject).metadata;
      const text = annotations[rolledOut] ?? "";
      this.written.push(`${uid} ${text}`);
      if (this.isHeard) this.#tell(uid, text);
      return Promise.resolve(object as KubeObject);
    },
  };

  readonly watches = {
    inform: <Object extends KubeObject, Index extends string>(
      _scope: ResourceScope,
      options: InformerOptions<Object, Index>,
    ): RunningInformer<Object, Index> => {
      const informer = new Informer<Object, Index>(options);
      this.#informer = informer as unknown as Informer;
      return { name: "watch", informer, readAgain: () => Promise.resolve(), run: aborted };
    },
  } as unknown as ClusterWatches;

  #digest: string | undefined;

  /** The Injection is another one, or has another digest. */
  compiled(digest: string, uid = "i", annotation?: string): void {
    this.#digest = digest;
    this.#tell(uid, annotation);
  }

  /** An Injection beside the first one has the digest, for which that had no room. */
  compiledBeside(digest: string, annotation?: string): void {
    this.#digest = undefined;
    this.#tell("i", annotation);
    this.#event({ name: "bunting-2", uid: "i2" }, digest);
  }

  #tell(uid: string, annotation: string | undefined): void {
    const annotations = annotation === undefined ? {} : { [rolledOut]: annotation };
    this.#event({ name: "bunting", uid, annotations }, this.#digest);
  }

  #event(of: KubeObject["metadata"], digest: string | undefined): void {
    const resourceVersion = String(++this.#version);
    const metadata = { namespace: "shop", resourceVersion, ...of };
    const spec = { format: 1, sources: digest === undefined ? {} : { app: { digest, env: [] } } };
    this.#informer?.event({ type: "MODIFIED", object: { metadata, spec }, resourceVersion }, 1);
  }
}

describe("RolloutOnChange", () => {
  let namespace: Namespace;
  let clock: ManualClock;
  let isAsked: boolean;
  let edits: Signal<string>;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    namespace = new Namespace();
    clock = new ManualClock();
    isAsked = true;
    edits = new Signal();
    abort = new AbortController();
    const { client, watches } = namespace;
    running = new RolloutOnChange({
      ...{ client, watches, events: { record: () => undefined }, proxies: undefined },
      sources: {
        restarts: () => isAsked,
        ready: Promise.resolve(),
        listen: (listener) => edits.listen(listener),
      },
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics(createRegistry(false)) },
    }).run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  async function settle(): Promise<void> {
    await eventually(() => clock.hasTimerIn(3_000), "it waits for a further edit");
    clock.advance(3_000);
  }

  it("restarts for the first change after its source has said so, though that alone changes no Injection", async () => {
    isAsked = false;
    namespace.compiled("1");
    await settle();
    await eventually(() => namespace.written.length === 1, "there is nothing to remember");
    await settle();
    isAsked = true;
    edits.emit("shop");
    await settle();
    await eventually(() => namespace.written.length === 2, "what Pods have is remembered");
    await settle();
    namespace.compiled("2", "i", '{"app":"1"}');
    await settle();
    await eventually(() => namespace.written.length === 3, "it is rolled out");
    expect(namespace.written).to.deep.equal(["i {}", 'i {"app":"1"}', 'i {"app":"2"}']);
    expect(namespace.restarts).to.deep.equal(["checkout"]);
  });

  it("restarts nothing for a change that is taken back before it is rolled out", async () => {
    namespace.compiled("2", "i", '{"app":"1"}');
    namespace.compiled("1", "i", '{"app":"1"}');
    await settle();
    namespace.compiled("2", "i", '{"app":"1"}');
    await settle();
    await eventually(() => namespace.written.length === 1, "the next one is rolled out");
    expect([namespace.written, namespace.restarts]).to.deep.equal([['i {"app":"2"}'], ["checkout"]]);
  });

  it("restarts for a change of a text for which the first Injection has no room", async () => {
    namespace.compiledBeside("2", '{"app":"1"}');
    await settle();
    await eventually(() => namespace.written.length === 1, "it is rolled out");
    expect(namespace.written).to.deep.equal(['i {"app":"2"}']);
    expect(namespace.restarts).to.deep.equal(["checkout"]);
  });

  it("restarts the other workloads where one is refused, which is tried again", async () => {
    namespace.deployments.unshift("broken");
    namespace.refused.add("broken");
    namespace.compiled("2", "i", '{"app":"1"}');
    await settle();
    await eventually(() => namespace.restarts.length === 1, "the other is restarted");
    await eventually(() => clock.pendingTimers === 1, "it waits to try again");
    namespace.refused.clear();
    clock.advance(5_000);
    await eventually(() => namespace.written.length === 1, "it is rolled out");
    expect(namespace.restarts).to.deep.equal(["checkout", "broken", "checkout"]);
  });

  it("writes what is rolled out once more where another Injection took the place of the one that had it", async () => {
    namespace.isHeard = false;
    namespace.compiled("1", "first");
    await settle();
    await eventually(() => namespace.written.length === 1, "it is remembered");
    namespace.compiled("1", "second");
    await settle();
    await eventually(() => namespace.written.length === 2, "it is remembered again");
    expect(namespace.written).to.deep.equal(['first {"app":"1"}', 'second {"app":"1"}']);
  });
});
