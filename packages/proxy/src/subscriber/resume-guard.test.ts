import { expect } from "chai";
import type { Snapshot } from "../snapshot/snapshot.js";
import { Tombstone } from "../topic/tombstone.js";
import { startingView, type TopicView } from "../topic/topic-view.js";
import { ResumeGuard, type HeldBack } from "./resume-guard.js";

describe("ResumeGuard", () => {
  const version = (resourceVersion: string) => ({ noticedMs: 0, uid: "u", resourceVersion });

  function useGuard(readsAtOnce = false): {
    guard: ResumeGuard;
    reads: (() => void)[];
    counts: { heldBack: number; wakes: number };
    waiting: Set<() => void>;
  } {
    const waiting = new Set<() => void>();
    const reads: (() => void)[] = [];
    const counts = { heldBack: 0, wakes: 0 };
    const guard = new ResumeGuard({
      current: { uid: "u", resourceVersion: "5" },
      metrics: { heldBack: (delta) => (counts.heldBack += delta) },
      refresh: (done) => {
        if (readsAtOnce) done();
        else reads.push(done);
        waiting.add(done);
        return () => void waiting.delete(done);
      },
      onRead: () => counts.wakes++,
    });
    return { guard, reads, counts, waiting };
  }

  it("passes a version as new as the one the agent holds, without a read", () => {
    const { guard, reads } = useGuard();
    expect(guard.mustWait(version("5"), false)).to.be.false;
    expect(guard.mustWait(version("6"), true)).to.be.false;
    expect(reads).to.be.empty;
  });

  it("waits for one read, and passes its result even if it is older", () => {
    const { guard, reads, counts } = useGuard();
    expect(guard.mustWait(version("4"), false)).to.be.true;
    expect(guard.mustWait(version("4"), false)).to.be.true;
    expect(reads).to.have.length(1);
    expect(counts).to.deep.equal({ heldBack: 1, wakes: 0 });
    reads[0]?.();
    expect(counts).to.deep.equal({ heldBack: 0, wakes: 1 });
    expect(guard.mustWait(version("4"), false)).to.be.false;
  });

  it("waits for the source where a copy on disk can't be compared with what the agent holds", () => {
    const { guard, reads } = useGuard();
    const unconfirmed = { noticedMs: 0, isUnconfirmed: true } as const;
    expect(guard.mustWait({ ...version("6"), isUnconfirmed: true }, false)).to.be.false;
    expect(guard.mustWait(unconfirmed, false)).to.be.true;
    expect(reads).to.have.length(1);
    expect(guard.mustWait({ noticedMs: 0 }, false), "the source has answered").to.be.false;
  });

  it("does not pass what is served in place of a deleted FeatureFlag", () => {
    const { guard, reads } = useGuard();
    expect(guard.mustWait(version("4"), true)).to.be.true;
    reads[0]?.();
    expect(guard.mustWait(version("4"), true)).to.be.true;
  });

  it("waits for one read before a deletion is told to an agent that holds something newer, or what can't be compared", () => {
    for (const deleted of [version("4"), { noticedMs: 0 }, undefined]) {
      const { guard, reads, counts } = useGuard();
      expect(guard.mustAwaitRead(deleted)).to.be.true;
      expect(guard.mustAwaitRead(deleted)).to.be.true;
      expect(reads).to.have.length(1);
      reads[0]?.();
      expect(guard.mustAwaitRead(deleted)).to.be.false;
      expect(counts).to.deep.equal({ heldBack: 0, wakes: 1 });
    }
    const { guard, reads } = useGuard();
    expect(guard.mustAwaitRead(version("5")), "what it holds was deleted").to.be.false;
    expect(reads).to.be.empty;
  });

  it("holds back of a topic what the agent may not have yet", () => {
    const tombstone = new Tombstone("demo/flags", "keep");
    const emptied = new Tombstone("demo/flags", "empty");
    const of = (resourceVersion: string) => ({ version: version(resourceVersion) }) as unknown as Snapshot;
    const rows: readonly [view: TopicView, before: HeldBack, afterRead: HeldBack, isStale?: true][] = [
      [startingView, "nothing", "nothing"],
      [{ kind: "missing", snapshot: undefined, tombstone }, "nothing", "nothing"],
      [{ kind: "live", snapshot: of("5"), tombstone: undefined }, "nothing", "nothing"],
      [{ kind: "live", snapshot: of("4"), tombstone: undefined }, "document", "nothing"],
      [{ kind: "live", snapshot: of("4"), tombstone: undefined }, "document", "document", true],
      [{ kind: "live", snapshot: of("5"), tombstone: undefined }, "nothing", "nothing", true],
      [{ kind: "deleted", snapshot: of("5"), tombstone }, "nothing", "nothing"],
      [{ kind: "deleted", snapshot: of("4"), tombstone }, "all", "document"],
      [{ kind: "deleted", snapshot: undefined, tombstone }, "all", "nothing"],
      [{ kind: "deleted", snapshot: of("4"), tombstone: emptied }, "all", "nothing"],
    ];
    for (const [view, before, afterRead, isStale = false] of rows) {
      const { guard, reads } = useGuard();
      expect(guard.heldBack(view, isStale)).to.equal(before);
      for (const done of reads) done();
      expect(guard.heldBack(view, isStale)).to.equal(afterRead);
    }
  });

  it("answers at once, without a wake, if the read is done at once", () => {
    const { guard, counts } = useGuard(true);
    expect(guard.mustWait(version("4"), false)).to.be.false;
    expect(counts).to.deep.equal({ heldBack: 0, wakes: 0 });
  });

  it("does not count as held back after it is closed", () => {
    const { guard, reads, counts, waiting } = useGuard();
    guard.mustWait(version("4"), false);
    expect(waiting.size).to.equal(1);
    guard.close();
    guard.close();
    expect(waiting.size, "waits that are left").to.equal(0);
    expect(counts.heldBack).to.equal(0);
    reads[0]?.();
    expect(counts.heldBack).to.equal(0);
  });
});
