import { setImmediate as nextTurn } from "node:timers/promises";
import { FairQueue } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { ClaimedReads, type ClaimedReadsOptions } from "./claimed-reads.js";

describe("ClaimedReads", () => {
  let clock: ManualClock;
  let begun: string[];
  let answers: Map<string, (isRead: boolean) => void>;
  let aborted: string[];
  let reads: ClaimedReads<string>;

  function create(options: Partial<ClaimedReadsOptions<string>> = {}): void {
    clock = new ManualClock();
    begun = [];
    answers = new Map();
    aborted = [];
    reads = new ClaimedReads({
      clock,
      read: (key, { signal }) =>
        new Promise((resolve) => {
          begun.push(key);
          answers.set(key, resolve);
          signal.addEventListener("abort", () => {
            aborted.push(key);
            resolve(false);
          });
        }),
      ...options,
    });
  }

  async function answer(key: string, isRead: boolean): Promise<void> {
    answers.get(key)?.(isRead);
    await nextTurn();
  }

  afterEach(async () => {
    await reads.stop();
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  it("has peers take turns, and four reads at a time", async () => {
    create();
    for (const key of ["a", "b", "c", "d", "e"]) reads.claim(key, "greedy");
    reads.claim("f", "modest");
    expect(begun, "nothing within the call").to.deep.equal([]);
    await nextTurn();
    expect(begun).to.deep.equal(["a", "f", "b", "c"]);
    await answer("a", true);
    expect(begun.slice(4)).to.deep.equal(["d"]);
  });

  it("answers those who claimed before the read began, and reads once more for others after a second", async () => {
    create();
    const done: string[] = [];
    reads.claim("a", "one", () => done.push("first"));
    const cancel = reads.claim("a", "two", () => done.push("cancelled"));
    await nextTurn();
    reads.claim("a", "one", () => done.push("late"));
    cancel();
    await answer("a", true);
    expect(done).to.deep.equal(["first"]);
    clock.advance(999);
    await nextTurn();
    expect(begun).to.deep.equal(["a"]);
    clock.advance(1);
    await nextTurn();
    await answer("a", true);
    expect(done).to.deep.equal(["first", "late"]);
    clock.advance(10_000);
    await nextTurn();
    expect(begun).to.deep.equal(["a", "a"]);
  });

  it("looks through no claims for one to a key that is being read, or rests: thousands of agents may have come with one version", async () => {
    create();
    reads.claim("a", "one", () => undefined);
    await nextTurn();
    const walk = FairQueue.prototype[Symbol.iterator];
    let looks = 0;
    FairQueue.prototype[Symbol.iterator] = function (this: FairQueue<unknown>) {
      looks++;
      return walk.call(this);
    };
    try {
      for (let index = 0; index < 100; index++) reads.claim("a", "one", () => undefined);
      await answer("a", true);
      reads.claim("a", "one", () => undefined);
      await nextTurn();
      expect(looks).to.equal(1);
    } finally {
      FairQueue.prototype[Symbol.iterator] = walk;
    }
    clock.advance(1_000);
    await nextTurn();
    expect(begun).to.deep.equal(["a", "a"]);
  });

  it("reads again after a failure, and as long as a claim stands that only its owner ends", async () => {
    create({ afterFailureMs: 5_000 });
    const end = reads.claim("a", "one");
    await nextTurn();
    await answer("a", false);
    clock.advance(4_999);
    await nextTurn();
    expect(begun).to.have.length(1);
    clock.advance(1);
    await nextTurn();
    await answer("a", true);
    clock.advance(1_000);
    await nextTurn();
    expect(begun).to.have.length(3);
    end();
    await answer("a", true);
    clock.advance(10_000);
    await nextTurn();
    expect(begun).to.have.length(3);
  });

  it("leaves a key alone that was read otherwise, and time between any two reads", async () => {
    create({
      perReadMs: 250,
      restMs: (key) => (key === "watched" ? 400 - (clock.monotonicMs() - 1_000) : 0),
    });
    for (const key of ["watched", "a", "b"]) reads.claim(key, "one");
    await nextTurn();
    expect(begun).to.deep.equal(["a"]);
    clock.advance(250);
    expect(begun).to.deep.equal(["a", "b"]);
    clock.advance(150);
    expect(begun).to.deep.equal(["a", "b"]);
    clock.advance(100);
    expect(begun).to.deep.equal(["a", "b", "watched"]);
  });

  it("ends the claims to a key that is dropped, and its read", async () => {
    create();
    const end = reads.claim("a", "one");
    await nextTurn();
    reads.drop("a");
    end();
    clock.advance(10_000);
    await nextTurn();
    expect([begun, aborted]).to.deep.equal([["a"], ["a"]]);
  });
});
