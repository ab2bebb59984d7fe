import { nextTurn } from "@bunting/runtime";
import { expect } from "chai";
import { ReadFairness } from "./read-fairness.js";
import { type TurnShare } from "@bunting/http2";

const perConnection = 10;
const perTurn = 100;

/** A connection that only counts. */
class FakeReader {
  isReading = true;
  holds = 0;
  readonly share: TurnShare;

  constructor(turns: ReadFairness, peer = "10.0.0.1") {
    this.share = turns.enter(this, peer);
  }

  pauseForTurn(): void {
    this.isReading = false;
    this.holds++;
  }

  resumeAfterTurn(): void {
    this.isReading = true;
  }
}

describe("ReadFairness", () => {
  let turns: ReadFairness;
  let due: (() => void)[];

  beforeEach(() => {
    due = [];
    turns = new ReadFairness({ perConnection, perTurn, afterTurn: (callback) => void due.push(callback) });
  });

  const endTurn = (): void => {
    for (const callback of due.splice(0)) callback();
  };
  const readers = (count: number): FakeReader[] => Array.from({ length: count }, () => new FakeReader(turns));

  it("holds a connection that has spent its share until the next turn", () => {
    const [greedy, modest] = readers(2) as [FakeReader, FakeReader];
    modest.share.spend(perConnection);
    greedy.share.spend(perConnection + 1);
    expect([greedy.isReading, modest.isReading]).to.deep.equal([false, true]);
    expect(greedy.share.isPaused).to.equal(true);
    endTurn();
    expect(greedy.isReading).to.equal(true);
    expect(greedy.share.isPaused).to.equal(false);
    expect(due).to.have.length(0);
  });

  for (const heldTurns of [1, 2, 3, 4])
    it(`says that all is read a turn after it has let go of the last that it held, ${heldTurns} turns later`, async () => {
      let turn = 0;
      const letGo = (async () => {
        while (turn < heldTurns) {
          await nextTurn();
          turn++;
        }
        endTurn();
        await nextTurn();
        turn++;
      })();
      const [greedy, other] = readers(2) as [FakeReader, FakeReader];
      greedy.share.spend(perTurn + 1);
      expect(other.isReading).to.equal(false);
      await turns.allRead(new AbortController().signal);
      expect(other.isReading).to.equal(true);
      expect(turn).to.be.greaterThan(heldTurns);
      await letGo;
    });

  it("does not wait for what it holds after an abort", async () => {
    const [greedy] = readers(1) as [FakeReader];
    greedy.share.spend(perTurn + 1);
    await turns.allRead(AbortSignal.abort());
    expect(greedy.isReading).to.equal(false);
  });

  it("counts each turn anew", () => {
    const [reader] = readers(1) as [FakeReader];
    for (let turn = 0; turn < 5; turn++) {
      reader.share.spend(perConnection);
      expect(reader.isReading).to.equal(true);
      endTurn();
    }
  });

  it("holds all connections once they have spent a turn's work, and all but the greedy read on in the next", () => {
    const all = readers(10);
    const [greedy, other] = all as [FakeReader, FakeReader];
    greedy.share.spend(perTurn);
    expect(other.isReading).to.equal(true);
    greedy.share.spend(perTurn);
    expect(all.filter(({ isReading }) => isReading)).to.deep.equal([]);
    endTurn();
    expect(all.filter(({ isReading }) => isReading)).to.deep.equal(all);
  });

  it("reads greedy connections in rotation, as many in a turn as have spent a turn's work", () => {
    const [first, second, third, fourth] = readers(4) as [FakeReader, FakeReader, FakeReader, FakeReader];
    first.share.spend(perTurn * 3);
    second.share.spend(perTurn / 2);
    third.share.spend(perTurn / 2);
    fourth.share.spend(perTurn / 2);
    const reading = (): boolean[] => [first, second, third, fourth].map(({ isReading }) => isReading);
    endTurn();
    expect(reading()).to.deep.equal([true, false, false, false]);
    first.share.spend(perTurn * 3);
    endTurn();
    expect(reading()).to.deep.equal([false, true, true, false]);
    endTurn();
    expect(reading()).to.deep.equal([false, true, true, true]);
    endTurn();
    expect(reading()).to.deep.equal([true, true, true, true]);
    expect(due).to.have.length(0);
  });

  it("does not hold a storm of connections with a few requests each", () => {
    const all = readers(perTurn);
    for (const { share } of all) share.spend(2);
    expect(all.every(({ isReading }) => isReading)).to.equal(true);
  });

  it("holds all connections once they have brought many bytes together, however few each, and reads those in rotation", () => {
    const chunkBytes = 64 * 1024;
    const all = readers(40);
    const [modest] = readers(1) as [FakeReader];
    const rounds: number[] = [];
    const left = new Set(all);
    while (left.size > 0) {
      let read = 0;
      for (const reader of left) {
        if (!reader.isReading) continue;
        reader.share.read(chunkBytes);
        left.delete(reader);
        read++;
      }
      rounds.push(read);
      expect(modest.isReading).to.equal(read <= perTurn / 8);
      endTurn();
      expect(modest.isReading).to.equal(true);
    }
    // 64 KB are work of 8.
    expect(rounds).to.deep.equal([13, 13, 13, 1]);
    for (let turn = 0; turn < 10; turn++) endTurn();
    expect(all.every(({ isReading }) => isReading)).to.equal(true);
  });

  it("does not hold connections for bytes of ordinary requests", () => {
    const all = readers(10 * perTurn);
    for (const { share } of all) share.read(8_000);
    expect(all.every(({ isReading }) => isReading)).to.equal(true);
  });

  it("stops a held connection again that the engine has read on", () => {
    const [greedy] = readers(1) as [FakeReader];
    greedy.share.spend(perConnection + 1);
    greedy.share.spend(1);
    expect(greedy.holds).to.equal(2);
  });

  it("reads and admits connections of few addresses in turns, however many one of them has", () => {
    const flood = Array.from({ length: 100 }, () => new FakeReader(turns));
    const other = new FakeReader(turns, "10.0.0.2");
    const accepted: string[] = [];
    for (const { share } of [...flood, other]) share.spend(perConnection + 1);
    for (let index = 0; index < 50; index++) turns.admit(() => accepted.push("flood"), "10.0.0.1");
    turns.admit(() => accepted.push("other"), "10.0.0.2");

    for (let turn = 0; turn < 4; turn++) endTurn();

    expect(other.isReading, "the other connection").to.equal(true);
    expect(flood.filter(({ isReading }) => !isReading).length, "those of the flood that rest").to.be.above(
      70,
    );
    expect(accepted.slice(0, 2)).to.have.members(["flood", "other"]);
  });

  it("lets new connections wait while the turn has had its work, and accepts them as the work allows", () => {
    const [greedy] = readers(1) as [FakeReader];
    const accepted: number[] = [];
    turns.admit(() => accepted.push(0), "10.0.0.1");
    greedy.share.spend(perTurn + 1);
    for (let index = 1; index <= 3; index++) {
      turns.admit(() => {
        accepted.push(index);
        new FakeReader(turns).share.spend(index === 2 ? perTurn + 1 : 1);
      }, "10.0.0.1");
    }
    expect(accepted).to.deep.equal([0]);
    for (let turn = 0; turn < 3; turn++) endTurn();
    expect(accepted).to.deep.equal([0, 1, 2]);
    for (let turn = 0; turn < 6; turn++) endTurn();
    expect(accepted).to.deep.equal([0, 1, 2, 3]);
    expect(due).to.have.length(0);
  });

  it("reads nothing else in a turn that admits, if the turn before had its work", () => {
    const [busy, other] = readers(2) as [FakeReader, FakeReader];
    let admitted = 0;
    busy.share.spend(1);
    endTurn();
    busy.share.spend(perTurn + 1);
    turns.admit(() => admitted++, "10.0.0.1");
    endTurn();
    expect([other.isReading, busy.isReading, admitted]).to.deep.equal([false, false, 0]);
    endTurn();
    expect([other.isReading, busy.isReading, admitted]).to.deep.equal([true, true, 1]);
    expect(due).to.have.length(0);
  });

  it("forgets connections that have closed", () => {
    const [gone, greedy] = readers(2) as [FakeReader, FakeReader];
    gone.share.spend(perConnection + 1);
    gone.share.leave();
    gone.share.spend(perTurn);
    greedy.share.spend(perConnection + 1);
    endTurn();
    expect(gone.isReading).to.equal(false);
    expect(gone.share.isPaused).to.equal(false);
    expect(greedy.isReading).to.equal(true);
  });

  describe("with rests", () => {
    let nowMs: number;
    let timers: { readonly delayMs: number; readonly callback: () => void }[];

    beforeEach(() => {
      nowMs = 0;
      timers = [];
      const clock = {
        now: () => nowMs,
        monotonicMs: () => nowMs,
        after: (delayMs: number, callback: () => void) => {
          timers.push({ delayMs, callback });
          return () => undefined;
        },
      };
      const afterTurn = (callback: () => void): void => void due.push(callback);
      turns = new ReadFairness({ perConnection, perTurn, afterTurn, restFactor: 3, clock });
    });

    it("reads no greedy connection for three times as long as a turn has taken in which one was read", () => {
      const [greedy, other] = readers(2) as [FakeReader, FakeReader];
      greedy.share.spend(perConnection + 1);
      endTurn();
      expect(greedy.isReading).to.equal(true);
      greedy.share.spend(perConnection + 1);
      nowMs += 20;
      endTurn();
      expect(timers.map(({ delayMs }) => delayMs)).to.deep.equal([60]);
      expect([greedy.isReading, other.isReading]).to.deep.equal([false, true]);
      other.share.spend(perConnection + 1);
      endTurn();
      expect([greedy.isReading, other.isReading]).to.deep.equal([false, false]);
      expect(due).to.have.length(0);
      timers.pop()?.callback();
      endTurn();
      expect([greedy.isReading, other.isReading]).to.deep.equal([true, true]);
    });

    it("lets those rest that have spent much of a turn's work, and no others", () => {
      const all = readers(20);
      const [modest] = all as [FakeReader];
      modest.share.spend(2);
      for (const { share } of all.slice(1)) share.spend(perConnection);
      expect(all.some(({ isReading }) => isReading)).to.equal(false);
      endTurn();
      expect(modest.isReading).to.equal(true);
      expect(all.filter(({ isReading }) => !isReading)).to.have.length.within(5, 15);
    });

    it("accepts new connections during a rest", () => {
      const [greedy] = readers(1) as [FakeReader];
      greedy.share.spend(perConnection + 1);
      endTurn();
      greedy.share.spend(perTurn + 1);
      nowMs += 20;
      let accepted = 0;
      turns.admit(() => accepted++, "10.0.0.1");
      expect(accepted).to.equal(0);
      endTurn();
      endTurn();
      expect(accepted).to.equal(1);
      expect(timers).to.have.length(1);
    });
  });
});
