import { KubeError, type KubeObject, type ObjectScope } from "@bunting/kube";
import { createLogger } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { OtherOperator } from "./other-operator.js";

/** An API server with the other operator's objects, which fails on command. */
class OtherObjects {
  lease: object | undefined;
  deployment: object | undefined;
  /** The name of the only Pod. */
  pod: string | undefined;
  fault: KubeError | undefined;
  reads = 0;
  #version = 0;

  get({ type, name }: ObjectScope): Promise<KubeObject> {
    this.reads++;
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const objects: Record<string, object | undefined> = {
      leases: this.lease,
      deployments: this.deployment,
      pods: name === this.pod ? {} : undefined,
    };
    const object = objects[type.plural];
    if (object === undefined) return Promise.reject(new KubeError("NOT_FOUND", "there is none"));
    return Promise.resolve(object as KubeObject);
  }

  /** Renews the Lease, as its holder does. */
  renew(renewTime: string, holderIdentity = "manager-1"): void {
    const metadata = { name: "lease", resourceVersion: String(++this.#version) };
    this.lease = { metadata, spec: { holderIdentity, leaseDurationSeconds: 15, renewTime } };
  }
}

describe("OtherOperator", () => {
  let clock: ManualClock;
  let objects: OtherObjects;
  let abort: AbortController;
  let seen: (string | undefined)[];
  let working: number;
  let running: Promise<void>;

  const newOther = (): OtherOperator =>
    new OtherOperator({
      client: objects,
      namespace: "flags",
      ownUid: () => Promise.resolve("ours"),
      context: { clock, logger: createLogger({ format: "json", debug: false }, { write: () => undefined }) },
      onSeen: (what) => seen.push(what),
    });
  const start = (work?: (signal: AbortSignal) => Promise<void>, other = newOther()): OtherOperator => {
    running = other.workInAbsence(
      work ??
        (async (signal) => {
          working++;
          await new Promise<void>((resolve) =>
            signal.addEventListener("abort", () => resolve(), { once: true }),
          );
          working--;
        }),
      abort.signal,
    );
    return other;
  };
  const nowTime = (): string => new Date(clock.now()).toISOString();
  /** Moves on, and waits until it has looked that often since the beginning. */
  const looksAfter = async (byMs: number): Promise<void> => {
    const { reads } = objects;
    await eventually(() => clock.pendingTimers > 0, "it waits to look again");
    clock.advance(byMs);
    await eventually(() => objects.reads > reads && clock.pendingTimers > 0, "it has looked");
  };

  beforeEach(() => {
    clock = new ManualClock();
    objects = new OtherObjects();
    abort = new AbortController();
    seen = [];
    working = 0;
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(working).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("lets the work begin at once where nothing else is", async () => {
    start();
    await eventually(() => working === 1, "the work begins");
    expect(seen).to.deep.equal([]);
  });

  it("waits while another operator renews its Lease, and for as long as the Lease lasts afterwards", async () => {
    objects.renew(nowTime());
    start();
    await looksAfter(5_000);
    objects.renew(nowTime());
    for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 5_000) {
      await looksAfter(5_000);
      expect(working).to.equal(0);
    }
    await looksAfter(5_000);
    await eventually(() => working === 1, "the work begins");
    expect(seen).to.deep.equal(["manager-1 renews the Lease 131bf64c.openfeature.dev", undefined]);
  });

  it("does not wait for a Lease that was released, or that nobody has renewed for long", async () => {
    objects.renew(nowTime(), "");
    start();
    await eventually(() => working === 1, "the work begins");
    abort.abort();
    await running;
    abort = new AbortController();
    objects.renew(new Date(clock.now() - 601_000).toISOString());
    start();
    await eventually(() => working === 1, "the work begins");
  });

  it("does not wait for a Lease whose holder's Pod was there and is no more", async () => {
    objects.pod = "manager-1";
    objects.renew(nowTime(), "manager-1_4f5e");
    start();
    await looksAfter(5_000);
    expect(working).to.equal(0);
    objects.pod = undefined;
    await looksAfter(5_000);
    await eventually(() => working === 1, "the work begins");
  });

  it("waits for a holder of which no Pod was seen, and for another holder than the one whose Pod is gone", async () => {
    objects.pod = "manager-1";
    objects.renew(nowTime(), "manager-1_4f5e");
    start();
    await looksAfter(5_000);
    objects.renew(nowTime(), "node-7_aa00");
    await looksAfter(5_000);
    await looksAfter(5_000);
    expect(working).to.equal(0);
  });

  it("waits while Pods of another Deployment are ready, and not for its own", async () => {
    objects.deployment = { metadata: { name: "d", uid: "other" }, status: { readyReplicas: 1 } };
    start();
    await eventually(() => seen.length === 1, "it has looked");
    expect(working).to.equal(0);
    objects.deployment = { metadata: { name: "d", uid: "other" }, status: {} };
    await looksAfter(5_000);
    await eventually(() => working === 1, "the work begins");
    objects.deployment = { metadata: { name: "d", uid: "ours" }, status: { readyReplicas: 2 } };
    await looksAfter(30_000);
    expect(working).to.equal(1);
  });

  it("ends the work when another operator appears, and begins it again when that is gone", async () => {
    start();
    await eventually(() => working === 1, "the work begins");
    objects.renew(nowTime());
    await looksAfter(30_000);
    await eventually(() => working === 0, "the work ends");
    objects.lease = undefined;
    await looksAfter(5_000);
    await eventually(() => working === 1, "the work begins again");
    expect(seen).to.deep.equal(["manager-1 renews the Lease 131bf64c.openfeature.dev", undefined]);
  });

  it("tells in each term that another operator is there: it is told to who has forgotten it since the last one", async () => {
    const told = "manager-1 renews the Lease 131bf64c.openfeature.dev";
    objects.renew(nowTime());
    const other = start();
    await eventually(() => seen.length === 1, "it is told");
    abort.abort();
    await running;
    abort = new AbortController();
    start(undefined, other);
    await looksAfter(5_000);
    expect(seen).to.deep.equal([told, told]);
    expect(working).to.equal(0);
  });

  it("does not begin before it could look, and does not end the work because it can't", async () => {
    objects.fault = new KubeError("TIMEOUT", "no answer");
    start();
    await looksAfter(5_000);
    expect(working).to.equal(0);
    objects.fault = undefined;
    await looksAfter(5_000);
    await eventually(() => working === 1, "the work begins");
    objects.fault = new KubeError("TIMEOUT", "no answer");
    await looksAfter(30_000);
    expect(working).to.equal(1);
  });

  it("rejects as the work does", async () => {
    start(() => Promise.reject(new Error("broken")));
    await running.then(
      () => expect.fail("it did not reject"),
      (error: unknown) => expect((error as Error).message).to.equal("broken"),
    );
    running = Promise.resolve();
  });
});
