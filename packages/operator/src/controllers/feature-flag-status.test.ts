import {
  KubeError,
  type EventDetails,
  type KubeObject,
  type ReflectorHandler,
  type WatchOptions,
} from "@bunting/kube";
import { createRegistry, nextTurn, Signal } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../operator-metrics.js";
import { FeatureFlagStatus } from "./feature-flag-status.js";
import type { StoredFeatureFlag } from "./feature-flag-watch.js";

const good = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
const bad = { ...good, defaultVariant: "an" };
const metrics = operatorMetrics(createRegistry(false));

type Stored = StoredFeatureFlag & { readonly spec: object };

/** An API server with FeatureFlags, whose status is written by apply. */
class Flags {
  readonly stored = new Map<string, Stored>();
  readonly writes: string[] = [];
  readonly reads: string[] = [];
  error: KubeError | undefined;
  handler: ReflectorHandler | undefined;
  #version = 0;

  get({ namespace = "", name }: { readonly namespace?: string; readonly name: string }): Promise<Stored> {
    const key = `${namespace}/${name}`;
    this.reads.push(key);
    const object = this.stored.get(key);
    return object === undefined
      ? Promise.reject(new KubeError("NOT_FOUND", "gone"))
      : Promise.resolve(object);
  }

  apply(
    { namespace = "", name }: { readonly namespace?: string; readonly name: string },
    object: object,
  ): Promise<KubeObject> {
    if (this.error !== undefined) return Promise.reject(this.error);
    const key = `${namespace}/${name}`;
    this.writes.push(key);
    const before = this.stored.get(key);
    const { status } = object as StoredFeatureFlag;
    if (before === undefined || status === undefined) throw new Error("unexpected write");
    this.put({ ...before, status });
    return Promise.resolve({ ...before, status });
  }

  /** Writes a spec as a user does. */
  edit(key: string, flags: object): void {
    const [namespace = "", name = ""] = key.split("/");
    const before = this.stored.get(key);
    const generation = (before?.metadata.generation ?? 0) + 1;
    const metadata = { ...before?.metadata, namespace, name, uid: "u1", generation };
    const kind = { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag" };
    this.put({ ...before, ...kind, metadata, spec: { flagSpec: { flags } } });
  }

  put(object: Stored): void {
    const { namespace = "", name } = object.metadata;
    const resourceVersion = String(++this.#version);
    const next = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.stored.set(`${namespace}/${name}`, next);
    this.handler?.event({ type: "MODIFIED", object: next, resourceVersion }, {} as never);
  }

  /** A consistent read, as at the start of a watch. */
  relist(): void {
    const read = this.handler?.beginRead();
    for (const object of this.stored.values()) read?.add(object, "1");
    read?.complete("1", {} as never);
  }
}

describe("FeatureFlagStatus", () => {
  let clock: ManualClock;
  let flags: Flags;
  let events: EventDetails[];
  let abort: AbortController;
  let running: Promise<void>;
  let levels: Map<string, string>;
  let relevelled: Signal<string>;
  const logger = recordingLogger();

  function start(): void {
    abort = new AbortController();
    const status = new FeatureFlagStatus({
      client: flags,
      watches: {
        watchAll: ({ handler }: Pick<WatchOptions, "handler">) => {
          flags.handler = handler;
          return { name: "watch", run: () => Promise.resolve() } as never;
        },
      },
      events: { record: (details) => events.push(details) },
      rules: {
        maxDocumentBytes: 100_000,
        levelOfNamespace: (namespace) => levels.get(namespace),
        listenToLevels: (listener) => relevelled.listen(listener),
      },
      context: { clock, logger, metrics },
    });
    running = status.run(abort.signal);
    flags.relist();
  }

  async function stop(): Promise<void> {
    abort.abort();
    await running;
  }

  beforeEach(() => {
    clock = new ManualClock();
    flags = new Flags();
    events = [];
    levels = new Map();
    relevelled = new Signal();
    logger.lines.length = 0;
    start();
  });

  afterEach(async () => {
    await stop();
    expect(clock.pendingTimers).to.equal(0);
  });

  const acceptedOf = (key: string) => flags.stored.get(key)?.status?.conditions?.[0];

  it("says in the status that a FeatureFlag is accepted, and in an event as well that one is not", async () => {
    flags.edit("shop/good", { a: good });
    flags.edit("shop/bad", { a: bad });
    await eventually(() => flags.writes.length === 2);
    expect(acceptedOf("shop/good")).to.include({ type: "Accepted", status: "True", observedGeneration: 1 });
    expect(flags.stored.get("shop/good")?.status).to.include({ flags: 1 });
    expect(acceptedOf("shop/bad")).to.include({ status: "False", reason: "Flag" });
    expect(events.map(({ regarding, reason }) => `${regarding.name} ${reason}`)).to.deep.equal(["bad Flag"]);
    expect(events[0]?.note).to.contain('its default variant "an" is not one of its variants');
  });

  it("writes once for an edit, whatever its own writes bring by the watch", async () => {
    flags.edit("shop/a", { a: good });
    await eventually(() => flags.writes.length === 1);
    for (let i = 0; i < 20; i++) {
      clock.advance(10_000);
      await nextTurn();
    }
    expect([flags.writes.length, flags.reads.length]).to.deep.equal([1, 1]);
  });

  it("writes an object once in ten seconds, and then what is so by then", async () => {
    flags.edit("shop/a", { a: good });
    await eventually(() => flags.writes.length === 1);
    for (const each of [bad, good, bad]) flags.edit("shop/a", { a: each });
    await nextTurn();
    clock.advance(9_999);
    await nextTurn();
    expect(flags.writes).to.have.length(1);
    clock.advance(1);
    await eventually(() => flags.writes.length === 2);
    expect(acceptedOf("shop/a")).to.include({ status: "False", observedGeneration: 4 });
  });

  it("writes five in a second in all, after a burst of five", async () => {
    for (let i = 0; i < 20; i++) flags.edit(`shop/f${i}`, { a: good });
    await eventually(() => flags.writes.length === 5);
    for (let i = 6; i <= 20; i++) {
      // The next write waits: a wait that began later, between two steps of the clock, would be rounded up beyond them.
      await eventually(() => clock.hasTimerIn(200));
      clock.advance(199);
      await nextTurn();
      expect(flags.writes).to.have.length(i - 1);
      clock.advance(1);
      await eventually(() => flags.writes.length === i);
    }
  });

  it("reads nothing again that an earlier leader has checked", async () => {
    flags.edit("shop/a", { a: good });
    flags.edit("shop/b", { a: bad });
    await eventually(() => flags.writes.length === 2);
    await stop();
    flags.reads.length = 0;
    flags.edit("shop/c", { a: good });
    start();
    await eventually(() => flags.writes.length === 3);
    expect(flags.reads).to.deep.equal(["shop/c"]);
    expect(events).to.have.length(1);
  });

  it("checks again when the annotation changes by which it is judged", async () => {
    flags.edit("shop/a", { a: { ...good, targeting: { if: [{ $ref: "gone" }, "on"] } } });
    await eventually(() => acceptedOf("shop/a")?.status === "True");
    const stored = flags.stored.get("shop/a");
    if (stored === undefined) throw new Error("it is gone");
    const annotations = { "bunting.dev/validation": "strict" };
    flags.put({ ...stored, metadata: { ...stored.metadata, annotations } });
    clock.advance(10_000);
    await eventually(() => acceptedOf("shop/a")?.status === "False");
  });

  it("checks those of a namespace again when the annotation of that changes by which they are judged", async () => {
    flags.edit("shop/a", { a: { ...good, targeting: { if: [{ $ref: "gone" }, "on"] } } });
    flags.edit("shops/a", { a: good });
    await eventually(() => flags.writes.length === 2);
    expect(acceptedOf("shop/a")?.status).to.equal("True");
    flags.reads.length = 0;
    levels.set("shop", "strict");
    relevelled.emit("shop");
    await eventually(() => clock.hasTimerIn(10_000), "it waits until it may write again");
    clock.advance(10_000);
    await eventually(() => acceptedOf("shop/a")?.status === "False");
    expect(flags.reads).to.deep.equal(["shop/a"]);
  });

  it("says in events alone what is wrong, while the type has no status", async () => {
    const undeclared = ["conditions", "flags", "digest"].map(
      (field) => `.status.${field}: field not declared in schema`,
    );
    flags.error = new KubeError("SERVER_ERROR", `failed: ${undeclared.join(", ")}`);
    flags.edit("shop/a", { a: bad });
    flags.edit("shop/b", { a: bad });
    await eventually(() => events.length === 2);
    expect(flags.writes).to.deep.equal([]);
    expect(logger.lines.filter(({ message }) => message.includes("CrdOutdated"))).to.have.length(1);
    flags.error = undefined;
    clock.advance(600_000);
    flags.edit("shop/b", { a: bad });
    await eventually(() => flags.writes.length === 1);
  });

  it("does nothing about what was deleted meanwhile", async () => {
    flags.edit("shop/a", { a: good });
    flags.stored.delete("shop/a");
    await eventually(() => flags.reads.length === 1);
    flags.edit("shop/b", { a: good });
    flags.error = new KubeError("NOT_FOUND", "gone");
    await eventually(() => flags.reads.length === 2);
    await nextTurn();
    expect(logger.lines).to.deep.equal([]);
  });
});
