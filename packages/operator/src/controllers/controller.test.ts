import { createRegistry, nextTurn, type WorkResult } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { operatorMetrics } from "../operator-metrics.js";
import { Controller } from "./controller.js";

describe("Controller", () => {
  let clock: ManualClock;
  let logger: ReturnType<typeof recordingLogger>;
  let runs: string[];
  let reconcile: (key: string, signal: AbortSignal) => Promise<WorkResult | undefined>;
  let abort: AbortController;
  let controller: Controller;
  let running: Promise<void>;
  const registry = createRegistry(false);
  const metrics = operatorMetrics(registry);

  function fail(): Promise<undefined> {
    return Promise.reject(new Error("the API server is away"));
  }

  function run(): void {
    abort = new AbortController();
    running = controller.run(abort.signal);
  }

  async function stop(): Promise<void> {
    abort.abort();
    await running;
  }

  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    await nextTurn();
  }

  beforeEach(() => {
    clock = new ManualClock();
    logger = recordingLogger();
    runs = [];
    reconcile = () => Promise.resolve(undefined);
    controller = new Controller({
      name: "test",
      reconcile: (key, signal) => {
        runs.push(key);
        return reconcile(key, signal);
      },
      context: { clock, logger, metrics },
      random: () => 1,
    });
    run();
  });

  afterEach(async () => {
    await stop();
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  it("lets namespaces take turns, however many objects one of them has", async () => {
    const keys = Array.from({ length: 100 }, (_, i) => `sources/noisy/${i}`);
    for (const key of [...keys, "sources/quiet/a", "shop", "store"]) controller.add(key);
    await nextTurn();
    for (const key of ["sources/quiet/a", "shop", "store"]) expect(runs.slice(0, 4)).to.include(key);
    expect(runs).to.have.length(103);
  });

  it("runs once for events that come together, and not again without one", async () => {
    controller.add("a");
    controller.add("a");
    await nextTurn();
    await advance(3_600_000);
    expect(runs).to.deep.equal(["a"]);
    expect(controller.isIdle).to.equal(true);
  });

  it("runs again when the reconciler asked for it", async () => {
    reconcile = () => Promise.resolve({ requeueAfterMs: 500 });
    controller.after("a", 100);
    await advance(100);
    await advance(499);
    expect(runs).to.deep.equal(["a"]);
    await advance(1);
    expect(runs).to.deep.equal(["a", "a"]);
  });

  it("runs again after failures, from 1 s to 5 min later, and begins at 1 s after a success", async () => {
    reconcile = fail;
    controller.add("a");
    await nextTurn();
    for (const waitMs of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((s) => s * 1_000)) {
      const before = runs.length;
      await advance(waitMs - 1);
      expect(runs).to.have.lengthOf(before);
      await advance(1);
      expect(runs).to.have.lengthOf(before + 1);
    }
    reconcile = () => Promise.resolve(undefined);
    await advance(300_000);
    reconcile = fail;
    const before = runs.length;
    controller.add("a");
    await advance(1_000);
    await advance(1_000);
    expect(runs).to.have.lengthOf(before + 2);
  });

  it("logs the failures of a key once a minute, and that it succeeds again", async () => {
    reconcile = fail;
    controller.add("a");
    controller.add("b");
    await nextTurn();
    for (const waitMs of [1, 2, 4, 8, 16, 32]) await advance(waitMs * 1_000);
    reconcile = () => Promise.resolve(undefined);
    await advance(64_000);
    controller.add("a");
    await nextTurn();
    const lines = logger.lines.map(({ level, fields }) => `${level} ${(fields as { key: string }).key}`);
    expect(lines).to.deep.equal(["error a", "error b", "error a", "error b", "info a", "info b"]);
    expect(logger.lines[0]?.fields).to.deep.include({ controller: "test", retryMs: 1_000 });
  });

  it("takes a key that was put off for one that still fails", async () => {
    const before = metrics.reconciled.read("test", "succeeded");
    reconcile = fail;
    controller.add("a");
    await nextTurn();
    reconcile = () => Promise.resolve({ isPutOff: true });
    controller.add("a");
    await nextTurn();
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(["error"]);
    expect(metrics.reconciled.read("test", "succeeded")).to.equal(before);
  });

  it("is quiet about a key that fails now and then within a minute", async () => {
    for (let round = 0; round < 5; round++) {
      reconcile = round % 2 === 0 ? fail : () => Promise.resolve(undefined);
      controller.add("a");
      await nextTurn();
    }
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(["error", "info"]);
  });

  it("keeps keys that are added while it does not run, and works on them when it runs again", async () => {
    await stop();
    controller.add("a");
    await advance(10_000);
    expect(runs).to.deep.equal([]);
    run();
    await nextTurn();
    expect(runs).to.deep.equal(["a"]);
  });

  it("reports a run that was ended by the signal neither as failed nor as succeeded", async () => {
    reconcile = (_key, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
    const before = [metrics.reconciled.read("test", "failed"), metrics.reconciled.read("test", "succeeded")];
    controller.add("a");
    await nextTurn();
    await stop();
    expect(logger.lines).to.deep.equal([]);
    const after = [metrics.reconciled.read("test", "failed"), metrics.reconciled.read("test", "succeeded")];
    expect(after).to.deep.equal(before);
  });

  it("counts its runs and measures its queue", async () => {
    const before = metrics.reconciled.read("test", "succeeded");
    const failed = metrics.reconciled.read("test", "failed");
    let end: (result: undefined) => void = () => undefined;
    reconcile = () => new Promise((resolve) => (end = resolve));
    for (const key of ["a", "b", "c"]) controller.add(key);
    await nextTurn();
    expect(metrics.queueDepth.read("test")).to.equal(2);
    end(undefined);
    await nextTurn();
    reconcile = fail;
    end(undefined);
    await nextTurn();
    expect(metrics.reconciled.read("test", "succeeded")).to.equal(before + 2);
    expect(metrics.reconciled.read("test", "failed")).to.equal(failed + 1);
    const text = await registry.metrics();
    expect(text).to.match(/bunting_operator_reconcile_seconds_count\{controller="test"\} [1-9]/);
    expect(text).to.match(/bunting_operator_reconcile_wait_seconds_count\{controller="test"\} [1-9]/);
  });
});
