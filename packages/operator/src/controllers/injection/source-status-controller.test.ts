import { KubeError, type KubeObject, type ObjectScope } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { TextOutcome } from "../../desired/injection.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { SourceStatusController } from "./source-status-controller.js";
import { SourceUsage } from "./source-usage.js";
import type { StoredSource } from "./stored-objects.js";

const outcome = (digest: string): TextOutcome => ({
  entry: { digest } as TextOutcome["entry"],
  plan: undefined,
  problems: [],
});

describe("SourceStatusController", () => {
  const metrics = operatorMetrics();
  let clock: ManualClock;
  /** The object as it is in the store. */
  let object: StoredSource | undefined;
  let objectOf: (key?: string) => StoredSource | undefined;
  let usage: SourceUsage;
  let written: { readonly scope: ObjectScope; readonly body: KubeObject }[];
  let fails: KubeError | undefined;
  /** As the definition of the open-feature-operator does with the fields of a status. */
  let drops: boolean;
  let controller: SourceStatusController;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    object = {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { namespace: "shop", name: "a", uid: "1", generation: 3 },
      spec: { sources: [] },
    };
    written = [];
    fails = undefined;
    drops = false;
    usage = new SourceUsage();
    objectOf = () => object;
    controller = new SourceStatusController({
      // The faults of an API server, and its objects as the watch brings them back.
      client: {
        apply: (scope, body) => {
          if (fails !== undefined) return Promise.reject(fails);
          written.push({ scope, body: body as KubeObject });
          if (drops) return Promise.resolve({ ...(body as KubeObject), status: {} });
          if (object !== undefined) object = { ...object, status: (body as StoredSource).status ?? {} };
          return Promise.resolve(body as KubeObject);
        },
      },
      sources: { object: (_list, key) => objectOf(key) },
      usage,
      context: { clock, logger: recordingLogger(), metrics },
    });
    abort = new AbortController();
    running = controller.run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  async function compiled(digest: string): Promise<void> {
    controller.compiled("sources", "shop/a", outcome(digest));
    await nextTurn();
  }

  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    await nextTurn();
  }

  const digests = (): unknown => written.map(({ body }) => (body as StoredSource).status?.digest);

  it("writes what became of an object, of its kind and with its generation", async () => {
    await compiled("d1");
    expect(written[0]?.scope).to.deep.include({ namespace: "shop", name: "a" });
    expect(written[0]?.scope.type.plural).to.equal("featureflagsources");
    expect(written[0]?.body).to.deep.include({
      kind: "FeatureFlagSource",
      metadata: { namespace: "shop", name: "a", uid: "1" },
    });
    const [accepted] = (written[0]?.body as StoredSource).status?.conditions ?? [];
    expect(accepted).to.include({ type: "Accepted", status: "True", observedGeneration: 3 });
  });

  it("writes nothing that the object says already", async () => {
    await compiled("d1");
    await compiled("d1");
    await advance(60_000);
    expect(digests()).to.deep.equal(["d1"]);
  });

  it("does not even look at an object that was compiled again, if it says the same already", async () => {
    await compiled("d1");
    await advance(60_000);
    const runs = (): number => metrics.reconciled.read("source-status", "succeeded");
    const before = runs();
    await compiled("d1");
    expect(runs()).to.equal(before);
    object = object && { ...object, status: {} };
    await compiled("d1");
    expect(runs(), "somebody has taken its status away").to.equal(before + 1);
    expect(digests()).to.deep.equal(["d1", "d1"]);
  });

  it("writes an object's status at most once in 10 s, and the last one then", async () => {
    await compiled("d1");
    await compiled("d2");
    await compiled("d3");
    await advance(9_999);
    expect(digests()).to.deep.equal(["d1"]);
    await advance(1);
    expect(digests()).to.deep.equal(["d1", "d3"]);
  });

  it("lets an object go that was deleted, and tries again where the API server fails", async () => {
    fails = new KubeError("NOT_FOUND", "gone");
    await compiled("d1");
    expect(clock.pendingTimers, "no other attempt").to.equal(0);
    const kept = object;
    object = undefined;
    fails = new KubeError("SERVER_ERROR", "away");
    await compiled("d2");
    expect(clock.pendingTimers, "nothing to write").to.equal(0);
    object = kept;
    await compiled("d3");
    expect(clock.pendingTimers).to.equal(1);
    fails = undefined;
    await advance(1_000);
    expect(digests()).to.deep.equal(["d3"]);
  });

  it("writes how many Pods name the object once all Pods are known, at most once in a minute", async () => {
    const see = (name: string): void =>
      usage.seen(`shop/${name}`, { name, annotations: { "openfeature.dev/featureflagsource": "a" } });
    const counts = (): unknown => written.map(({ body }) => (body as StoredSource).status?.usedBy);
    see("1");
    await compiled("d1");
    expect(counts()).to.deep.equal([undefined]);
    usage.read();
    await advance(59_999);
    see("2");
    expect(counts()).to.deep.equal([undefined]);
    await advance(1);
    expect(counts()).to.deep.equal([undefined, 2]);
    see("3");
    await compiled("d2");
    await advance(10_000);
    expect(counts(), "with other news it is written earlier").to.deep.equal([undefined, 2, 3]);
    await advance(60_000);
  });

  it("writes at most 5 statuses a second of all objects, after 20 at once", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `shop/s${index}`);
    for (const name of names) controller.compiled("inProcess", name, outcome("d"));
    object = undefined;
    const one = {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { namespace: "shop", name: "s" },
      spec: { sources: [] },
    } as const;
    objectOf = () => one;
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    expect(written).to.have.length(20);
    for (let second = 0; second < 10; second++) await advance(200);
    expect(written).to.have.length(30);
  });

  it("tries again after ten minutes where the type has no status, and not before", async () => {
    drops = true;
    await compiled("d1");
    await compiled("d2");
    for (let minute = 0; minute < 9; minute++) await advance(60_000);
    expect(digests()).to.deep.equal(["d1"]);
    drops = false;
    await advance(180_000);
    expect(digests()).to.deep.equal(["d1", "d2"]);
  });

  it("lets the sources of one namespace not delay those of another one", async () => {
    const spec = { sources: [] };
    const kind = { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlagSource" } as const;
    objectOf = () => ({ ...kind, metadata: { namespace: "any", name: "s" }, spec });
    for (let i = 0; i < 1_000; i++) controller.compiled("inProcess", `noisy/s${i}`, outcome("d"));
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    controller.compiled("inProcess", "quiet/a", outcome("d"));
    for (let i = 0; i < 3; i++) await advance(200);
    expect(written.map(({ scope }) => scope.namespace).slice(20)).to.deep.equal(["noisy", "noisy", "quiet"]);
  });

  it("forgets objects that are gone, under however many names they come and go", async () => {
    await compiled("d1");
    let batch = 0;
    // All have the status already, so that nothing is written.
    objectOf = (key = "") => (key.startsWith(`shop/b${batch}-`) ? object : undefined);
    for (batch = 0; batch < 20; batch++) {
      for (let i = 0; i < 500; i++) controller.compiled("sources", `shop/b${batch}-${i}`, outcome("d1"));
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    }
    // It has all that are known looked at again.
    usage.read();
    expect(clock.pendingTimers).to.be.within(500, 2_000);
    await advance(60_000);
  });

  it("names InProcessConfigurations as what they are", async () => {
    controller.compiled("inProcess", "shop/a", outcome("d1"));
    await nextTurn();
    expect(written[0]?.body.kind).to.equal("InProcessConfiguration");
    expect((written[0]?.body as StoredSource).status).to.not.have.property("digest");
  });
});
