import { expect } from "chai";
import fc from "fast-check";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { StartQueue, type Starter } from "./start-queue.js";

/** Streams that come to a queue of 100 a second, and the order in which they start. */
class Storm {
  readonly clock = new ManualClock();
  readonly started: string[] = [];
  queued = 0;
  readonly #queue: StartQueue;
  readonly #connections = new Map<string, object>();
  readonly #starters = new Map<string, Starter>();

  constructor(burst: number) {
    const onWaiting = (delta: number) => void (this.queued += delta);
    this.#queue = new StartQueue({ perSecond: 100, burst, clock: this.clock, onWaiting });
  }

  come(connectionName: string, stream: string): void {
    let connection = this.#connections.get(connectionName);
    if (connection === undefined) this.#connections.set(connectionName, (connection = {}));
    const starter: Starter = {
      connection,
      start: () => void this.started.push(stream),
    };
    this.#starters.set(stream, starter);
    if (this.#queue.enter(starter)) this.started.push(stream);
  }

  leave(stream: string): void {
    const starter = this.#starters.get(stream);
    if (starter !== undefined) this.#queue.leave(starter);
  }
}

describe("a start queue", () => {
  it("lets a burst start at once, and then a fixed number per second", () => {
    const storm = new Storm(10);
    for (let i = 0; i < 60; i++) storm.come(`c${i}`, `s${i}`);
    expect(storm.started).to.have.length(10);
    expect(storm.queued).to.equal(50);
    storm.clock.advance(100);
    expect(storm.started).to.have.length(20);
    storm.clock.advance(400);
    expect(storm.started).to.deep.equal(Array.from({ length: 60 }, (_, i) => `s${i}`));
    expect(storm.queued).to.equal(0);
    expect(storm.clock.pendingTimers).to.equal(0);
    storm.clock.advance(1_000);
    storm.come("later", "later");
    expect(storm.started.at(-1)).to.equal("later");
  });

  it("lets connections take turns: one with many streams does not delay those with one", () => {
    const storm = new Storm(1);
    storm.come("first", "first");
    for (let i = 0; i < 50; i++) storm.come("greedy", `greedy ${i}`);
    for (let i = 0; i < 5; i++) storm.come(`modest ${i}`, `modest ${i}`);
    storm.clock.advance(70);
    expect(storm.started.filter((stream) => stream.startsWith("modest"))).to.have.length(5);
    expect(storm.started).to.have.length(8);
  });

  it("lets no stream overtake a waiting one, even if there are tokens again", () => {
    const storm = new Storm(1);
    storm.come("a", "a");
    storm.clock.advance(5);
    storm.come("b", "b");
    // There is a token again, and b's turn comes 3 ms from now.
    storm.clock.advance(7);
    storm.come("c", "c");
    storm.clock.advance(1_000);
    expect(storm.started).to.deep.equal(["a", "b", "c"]);
  });

  it("spends no turn on streams that have ended", () => {
    const storm = new Storm(1);
    storm.come("a", "a");
    for (let i = 0; i < 20; i++) {
      storm.come("gone", `gone ${i}`);
      storm.leave(`gone ${i}`);
    }
    storm.come("b", "b");
    storm.clock.advance(10);
    expect(storm.started).to.deep.equal(["a", "b"]);
    expect(storm.queued).to.equal(0);
  });

  it("starts each stream exactly once, in the order of its connection", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("come" as const), connection: fc.nat(3) }),
      fc.record({ kind: fc.constant("leave" as const), which: fc.nat(30) }),
      fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(40) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const storm = new Storm(2);
        const all: string[] = [];
        const left = new Set<string>();
        for (const one of steps) {
          if (one.kind === "come") {
            const stream = `c${one.connection}/${all.length}`;
            all.push(stream);
            storm.come(`c${one.connection}`, stream);
          } else if (one.kind === "wait") storm.clock.advance(one.ms);
          else {
            const stream = all[one.which];
            if (stream !== undefined && !storm.started.includes(stream)) {
              left.add(stream);
              storm.leave(stream);
            }
          }
        }
        storm.clock.advance(1_000);
        const expected = all.filter((stream) => !left.has(stream));
        expect([...storm.started].sort()).to.deep.equal([...expected].sort());
        for (let c = 0; c <= 3; c++) {
          const ofConnection = (streams: readonly string[]): string[] =>
            streams.filter((stream) => stream.startsWith(`c${c}/`));
          expect(ofConnection(storm.started)).to.deep.equal(ofConnection(expected));
        }
        expect(storm.queued).to.equal(0);
        expect(storm.clock.pendingTimers).to.equal(0);
      }),
    );
  });
});
