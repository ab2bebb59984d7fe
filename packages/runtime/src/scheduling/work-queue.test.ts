import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { nextTurn } from "./event-loop.js";
import { WorkQueue, type WorkQueueOptions, type WorkResult } from "./work-queue.js";

/** Work that ends when the test says so. */
class Run {
  end!: (result?: WorkResult) => void;
  fail!: (error: Error) => void;
  readonly ended: Promise<WorkResult | undefined>;
  readonly key: string;

  constructor(key: string) {
    this.key = key;
    this.ended = new Promise((resolve, reject) => {
      this.end = (result) => resolve(result);
      this.fail = reject;
    });
  }
}

describe("WorkQueue", () => {
  let clock: ManualClock;
  let runs: Run[];
  let errors: string[];
  let measured: string[];
  let abort: AbortController;
  let queue: WorkQueue<string>;
  let running: Promise<void> | undefined;

  function create(options: Partial<WorkQueueOptions<string>> = {}): void {
    queue = new WorkQueue({
      name: "test",
      clock,
      work: (key) => {
        const run = new Run(key);
        runs.push(run);
        return run.ended;
      },
      backoff: { firstMs: 100, capMs: 1_000, random: () => 1 },
      onError: (key, error, retryMs) =>
        errors.push(`${key}: ${(error as Error).message}, again in ${retryMs} ms`),
      ...options,
    });
    running = queue.run(abort.signal);
  }

  /** The keys of all runs so far. */
  async function keys(): Promise<string[]> {
    await nextTurn();
    return runs.map((run) => run.key);
  }

  beforeEach(() => {
    clock = new ManualClock();
    runs = [];
    errors = [];
    measured = [];
    abort = new AbortController();
  });

  afterEach(async () => {
    abort.abort();
    for (const run of runs) run.end();
    await running;
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  it("works on a key once, however often it was added before", async () => {
    create();
    for (const key of ["a", "b", "a", "b"]) queue.add(key);
    expect(await keys()).to.deep.equal(["a"]);
    expect(["a", "b", "c"].map((key) => queue.has(key))).to.deep.equal([true, true, false]);
    runs[0]?.end();
    expect(await keys()).to.deep.equal(["a", "b"]);
    runs[1]?.end();
    expect(await keys()).to.deep.equal(["a", "b"]);
    expect(queue.isIdle).to.equal(true);
    expect(queue.has("b")).to.equal(false);
    queue.after("b", 100);
    expect(queue.has("b"), "it waits for its time, not for a worker").to.equal(false);
  });

  it("lets those take turns for whom keys are worked on, however many keys one of them has", async () => {
    create({ turnOf: (key) => key.slice(0, 1) });
    for (const key of ["a1", "a2", "a3", "b1", "c1", "b2"]) queue.add(key);
    for (let i = 0; i < 6; i++) {
      await keys();
      if (i === 1) queue.add("d1");
      runs[i]?.end();
    }
    expect(await keys()).to.deep.equal(["a1", "b1", "c1", "a2", "b2", "d1", "a3"]);
    runs[6]?.end();
    await keys();
    expect(queue.isIdle).to.equal(true);
  });

  describe("of which somebody else has made the work", () => {
    const runAll = async (): Promise<string[]> => {
      for (let i = 0; i < (await keys()).length; i++) runs[i]?.end();
      return keys();
    };

    it("has a key wait in the turn of that one", async () => {
      create({ turnOf: (key) => key.slice(0, 1) });
      for (const key of ["a1", "b1", "c1", "d1"]) queue.add(key, "a");
      queue.add("e1");
      queue.add("f1");
      expect(await runAll()).to.deep.equal(["a1", "e1", "f1", "b1", "c1", "d1"]);
    });

    it("gives a key its own turn once it has work of its own, and leaves it that", async () => {
      create({ turnOf: (key) => key.slice(0, 1) });
      for (const key of ["a1", "b1", "c1", "d1"]) queue.add(key, "a");
      queue.add("d1");
      queue.add("d1", "a");
      expect(await runAll()).to.deep.equal(["a1", "d1", "b1", "c1"]);
      expect(queue.isIdle).to.equal(true);
    });

    it("has a key come back in the turn in which it was worked on", async () => {
      create({ turnOf: (key) => key.slice(0, 1) });
      queue.add("b1", "a");
      queue.add("c1");
      await keys();
      runs[0]?.end({ requeueAfterMs: 10 });
      await keys();
      runs[1]?.end({ requeueAfterMs: 10 });
      await keys();
      clock.advance(10);
      for (const key of ["a1", "a2"]) queue.add(key);
      // The first that waits has a worker at once.
      expect((await runAll()).slice(2)).to.deep.equal(["b1", "c1", "a1", "a2"]);
    });

    it("gives a key its own turn that gets work of its own while it is worked on, or has more of it to do", async () => {
      create({ turnOf: (key) => key.slice(0, 1) });
      for (const key of ["b1", "x1", "x2", "x3"]) queue.add(key, "a");
      await keys();
      queue.add("b1", "a");
      queue.add("b1");
      runs[0]?.end();
      await keys();
      runs[1]?.end();
      expect(await keys()).to.deep.equal(["b1", "x1", "b1"]);
      queue.add("b1", "a");
      runs[2]?.end({ requeueAfterMs: 10 });
      await keys();
      for (let i = 3; i < 6; i++) {
        runs[i]?.end();
        await keys();
      }
      expect((await keys()).slice(3)).to.deep.equal(["x2", "b1", "x3"]);
    });
  });

  it("works once more on a key that was added while it was worked on, and never twice at a time", async () => {
    create({ concurrency: 5 });
    queue.add("a");
    await keys();
    queue.add("a");
    queue.add("a");
    expect(await keys()).to.deep.equal(["a"]);
    runs[0]?.end();
    expect(await keys()).to.deep.equal(["a", "a"]);
    runs[1]?.end();
    expect(await keys()).to.deep.equal(["a", "a"]);
  });

  it("works on as many keys at a time as it may", async () => {
    create({ concurrency: 2 });
    for (const key of ["a", "b", "c"]) queue.add(key);
    expect(await keys()).to.deep.equal(["a", "b"]);
    expect(queue.depth).to.equal(1);
    runs[1]?.end();
    expect(await keys()).to.deep.equal(["a", "b", "c"]);
  });

  it("comes back to a key that failed after a backoff of its own, which ends with a success", async () => {
    create();
    queue.add("a");
    await keys();
    runs[0]?.fail(new Error("no"));
    await keys();
    clock.advance(99);
    expect(await keys()).to.deep.equal(["a"]);
    clock.advance(1);
    expect(await keys()).to.deep.equal(["a", "a"]);
    runs[1]?.fail(new Error("no"));
    queue.add("b");
    await keys();
    runs[2]?.fail(new Error("no"));
    await keys();
    clock.advance(200);
    expect(await keys()).to.deep.equal(["a", "a", "b", "b"]);
    runs[3]?.end();
    expect((await keys()).at(-1)).to.equal("a");
    runs[4]?.end();
    queue.add("a");
    await keys();
    runs[5]?.fail(new Error("no"));
    await keys();
    expect(errors).to.deep.equal([
      "a: no, again in 100 ms",
      "a: no, again in 200 ms",
      "b: no, again in 100 ms",
      "a: no, again in 100 ms",
    ]);
  });

  it("goes on with the backoff of a key whose work was put off meanwhile", async () => {
    create();
    queue.add("a");
    await keys();
    runs[0]?.fail(new Error("no"));
    await keys();
    clock.advance(100);
    await keys();
    runs[1]?.end({ requeueAfterMs: 50, isPutOff: true });
    await keys();
    clock.advance(50);
    await keys();
    runs[2]?.fail(new Error("no"));
    await keys();
    expect(errors).to.deep.equal(["a: no, again in 100 ms", "a: no, again in 200 ms"]);
  });

  it("does not wait for the backoff where somebody asks for the key meanwhile", async () => {
    create();
    queue.add("a");
    await keys();
    runs[0]?.fail(new Error("no"));
    await keys();
    queue.add("a");
    expect(await keys()).to.deep.equal(["a", "a"]);
    runs[1]?.end();
    await keys();
    clock.advance(10_000);
    expect(await keys()).to.deep.equal(["a", "a"]);
  });

  it("comes back after the time that the work or a caller asks for, the earlier of two", async () => {
    create();
    queue.after("a", 500);
    queue.after("a", 300);
    queue.after("a", 900);
    clock.advance(299);
    expect(await keys()).to.deep.equal([]);
    clock.advance(1);
    expect(await keys()).to.deep.equal(["a"]);
    queue.after("a", 50);
    runs[0]?.end({ requeueAfterMs: 70 });
    await keys();
    clock.advance(50);
    expect(await keys()).to.deep.equal(["a", "a"]);
    runs[1]?.end({ requeueAfterMs: 70 });
    await keys();
    clock.advance(69);
    expect(await keys()).to.deep.equal(["a", "a"]);
    clock.advance(1);
    expect(await keys()).to.deep.equal(["a", "a", "a"]);
    runs[2]?.end();
    await keys();
    clock.advance(10_000);
    expect(await keys()).to.deep.equal(["a", "a", "a"]);
  });

  it("keeps what was added before it runs", async () => {
    create();
    abort.abort();
    await running;
    abort = new AbortController();
    queue.add("a");
    expect(await keys()).to.deep.equal([]);
    running = queue.run(abort.signal);
    expect(await keys()).to.deep.equal(["a"]);
  });

  it("hands its signal to the work, waits for it at the end, and drops what waits", async () => {
    let signal: AbortSignal | undefined;
    let release!: () => void;
    create({
      work: (_key, given) => {
        signal = given;
        return new Promise((resolve) => (release = () => resolve(undefined)));
      },
    });
    queue.add("a");
    queue.add("b");
    queue.after("c", 10);
    await nextTurn();
    let hasEnded = false;
    void running?.then(() => (hasEnded = true));
    abort.abort();
    await nextTurn();
    expect([signal?.aborted, hasEnded, queue.depth]).to.deep.equal([true, false, 0]);
    release();
    await running;
    expect(errors).to.deep.equal([]);
  });

  it("drops also what is added while the last work ends", async () => {
    const depths: number[] = [];
    const ignore = (): void => undefined;
    create({
      metrics: {
        depth: (count) => depths.push(count),
        ...{ added: ignore, waited: ignore, worked: ignore, retried: ignore },
      },
    });
    queue.add("a");
    await keys();
    abort.abort();
    await nextTurn();
    queue.add("b");
    queue.after("c", 10);
    runs[0]?.end();
    await running;
    expect([queue.depth, queue.isIdle, depths.at(-1)]).to.deep.equal([0, true, 0]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("reports no failure of work that was cut short by the end", async () => {
    create();
    queue.add("a");
    await keys();
    abort.abort();
    runs[0]?.fail(new Error("aborted"));
    await running;
    expect(errors).to.deep.equal([]);
  });

  it("measures how long keys wait, how long their work takes, and what was tried again", async () => {
    create({
      metrics: {
        depth: (count) => measured.push(`depth ${count}`),
        added: () => measured.push("added"),
        waited: (ms) => measured.push(`waited ${ms}`),
        worked: (ms) => measured.push(`worked ${ms}`),
        retried: () => measured.push("retried"),
      },
    });
    queue.add("a");
    await keys();
    queue.add("b");
    queue.add("b");
    clock.advance(30);
    runs[0]?.fail(new Error("no"));
    await keys();
    expect(measured).to.deep.equal([
      ...["added", "depth 1", "depth 0", "waited 0"],
      ...["added", "depth 1", "retried", "worked 30", "depth 0", "waited 30"],
    ]);
    queue.add("c");
    measured.length = 0;
    abort.abort();
    await nextTurn();
    expect(measured, "no key waits when it has ended").to.deep.equal(["depth 0"]);
  });
});
