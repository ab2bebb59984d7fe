import { Informer, KubeError, type InformerOptions, type KubeObject, type ObjectScope } from "@bunting/kube";
import type { ResourceScope, RunningInformer } from "@bunting/kube";
import { aborted, createRegistry } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../../operator-metrics.js";
import { AuthorityMaps } from "./authority-maps.js";

const deliveryMs = 180_000;

/** An API server that stores what is applied, by namespace, and whose watch says nothing by itself. */
class AppliedMaps {
  readonly stored = new Map<string, string | undefined>();
  /** Namespaces whose ConfigMap is there, and can't be changed. */
  readonly immutable = new Set<string>();
  fault: Error | undefined;
  applies = 0;
  /** Of the ConfigMaps; what its handler is told are edits of others. */
  informer: Informer | undefined;

  apply({ namespace = "" }: ObjectScope, object: object): Promise<KubeObject> {
    this.applies++;
    if (this.fault !== undefined) return Promise.reject(this.fault);
    if (this.immutable.has(namespace))
      return Promise.reject(
        new KubeError("INVALID", "data: Forbidden: field is immutable when `immutable` is set"),
      );
    const { data } = object as { readonly data: Readonly<Record<string, string>> };
    this.stored.set(namespace, data["ca.crt"]);
    return Promise.resolve(object as KubeObject);
  }

  delete({ namespace = "" }: ObjectScope): Promise<unknown> {
    this.immutable.delete(namespace);
    return Promise.resolve({});
  }

  edit(namespace: string, resourceVersion: number): void {
    const metadata = { name: "bunting-ca", namespace, resourceVersion: String(resourceVersion) };
    this.informer?.event(
      { type: "MODIFIED", object: { metadata }, resourceVersion: String(resourceVersion) },
      1,
    );
  }

  inform<Object extends KubeObject = KubeObject, Index extends string = never>(
    _scope: ResourceScope,
    options: InformerOptions<Object, Index>,
  ): RunningInformer<Object, Index> {
    const informer = new Informer<Object, Index>(options);
    this.informer = informer as unknown as Informer;
    return { name: "maps", informer, readAgain: () => Promise.resolve(), run: aborted };
  }
}

describe("AuthorityMaps", () => {
  let cluster: AppliedMaps;
  let clock: ManualClock;
  let bundle: string | undefined;
  let completed: number;
  let delivered: string[];
  let maps: AuthorityMaps;
  let except: Set<string>;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    cluster = new AppliedMaps();
    clock = new ManualClock();
    bundle = "first";
    completed = 0;
    delivered = [];
    except = new Set();
    maps = new AuthorityMaps({
      cluster: { client: cluster, watches: cluster },
      except,
      bundle: () => bundle,
      onComplete: () => completed++,
      onDelivered: (which) => delivered.push(which),
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics(createRegistry(false)) },
    });
    lead();
  });

  afterEach(stop);

  function lead(): void {
    abort = new AbortController();
    running = maps.run(abort.signal);
  }

  async function stop(): Promise<void> {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  }

  const isDelivered = (which: string): Promise<void> =>
    eventually(() => delivered.at(-1) === which, `the last delivered is ${delivered.at(-1)}`);

  it("gives the bundle to each namespace that asks, and names those that lack it", async () => {
    maps.asks("shop", true);
    maps.asks("bank", true);
    expect(maps.lacking, "before all have been heard of").to.equal(undefined);
    maps.complete();
    expect(maps.lacking).to.have.members(["shop", "bank"]);
    await eventually(() => completed === 1);
    expect([...cluster.stored]).to.have.deep.members([
      ["shop", "first"],
      ["bank", "first"],
    ]);
    expect(maps.lacking).to.deep.equal([]);
  });

  it("does not wait for a namespace that asks no more, and leaves what it has", async () => {
    cluster.fault = new Error("no");
    maps.asks("shop", true);
    maps.complete();
    expect(maps.lacking).to.deep.equal(["shop"]);
    maps.asks("shop", false);
    expect(maps.lacking).to.deep.equal([]);
    await eventually(() => completed === 1);
    expect([...cluster.stored]).to.deep.equal([]);
  });

  it("waits for a namespace that was gone and asks again: its ConfigMap went with the one before", async () => {
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1);
    maps.asks("shop", false);
    maps.asks("shop", true);
    expect(maps.lacking).to.deep.equal(["shop"]);
    await eventually(() => clock.hasTimerIn(1_000), "it has its next turn in a second");
    clock.advance(1_000);
    await eventually(() => maps.lacking?.length === 0, "it is given the bundle");
  });

  it("waits for a namespace that asks no more while it is given the bundle, and asks again", async () => {
    maps.complete();
    maps.asks("shop", true);
    const stored = cluster.apply.bind(cluster);
    let apply: (() => void) | undefined;
    cluster.apply = (...given) => new Promise((resolve) => (apply = () => resolve(stored(...given))));
    await eventually(() => apply !== undefined);
    maps.asks("shop", false);
    apply?.();
    cluster.apply = stored;
    maps.asks("bank", true);
    await eventually(() => maps.lacking?.length === 0 && cluster.stored.has("bank"));
    maps.asks("shop", true);
    expect(maps.lacking).to.deep.equal(["shop"]);
  });

  it("tells that the bundle is delivered when kubelets have had the time", async () => {
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1);
    clock.advance(deliveryMs - 1);
    bundle = "second";
    maps.bundleChanged();
    await eventually(() => completed === 2);
    clock.advance(1);
    await eventually(() => clock.hasTimerIn(deliveryMs - 1), "the second has a time of its own");
    expect(delivered).to.deep.equal([]);
    clock.advance(deliveryMs - 1);
    await isDelivered("second");
    expect(delivered).to.deep.equal(["second"]);
  });

  it("tells nothing when it does not lead, and tells it again in its next term", async () => {
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1);
    await stop();
    clock.advance(deliveryMs);
    expect(delivered).to.deep.equal([]);
    lead();
    await eventually(() => cluster.applies === 2, "it is given the bundle again");
    expect(maps.lacking, "before all have been heard of again").to.equal(undefined);
    maps.complete();
    await eventually(() => completed === 2);
    clock.advance(deliveryMs);
    await isDelivered("first");
  });

  it("replaces a ConfigMap that somebody has made immutable, so that nobody waits for it", async () => {
    cluster.immutable.add("shop");
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1);
    expect(cluster.stored.get("shop")).to.equal("first");
  });

  it("waits for no namespace that is excepted, and gives it the bundle all the same", async () => {
    except.add("shop");
    cluster.fault = new KubeError("FORBIDDEN", "exceeded quota");
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1, "it is complete without");
    expect(maps.lacking).to.deep.equal([]);
    cluster.fault = undefined;
    await eventually(() => {
      clock.advance(1_000);
      return cluster.stored.get("shop") === "first";
    }, "it is tried again");
  });

  it("puts right once in a second what somebody edits all the time", async () => {
    maps.asks("shop", true);
    maps.complete();
    await eventually(() => completed === 1);
    const applied = cluster.applies;
    for (let edit = 1; edit <= 50; edit++) {
      cluster.edit("shop", edit);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(cluster.applies).to.equal(applied);
    clock.advance(1_000);
    await eventually(() => cluster.applies > applied, "it is put right");
    expect(cluster.applies).to.equal(applied + 1);
  });
});
