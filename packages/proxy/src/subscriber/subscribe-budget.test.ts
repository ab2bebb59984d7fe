import { expect } from "chai";
import { SubscribeBudget, type Requester } from "./subscribe-budget.js";

/** Streams with some requests each. */
class Streams {
  readonly handled: string[] = [];
  readonly turns: SubscribeBudget;
  nowMs = 0;
  readonly #requestMs: number;
  readonly #due: { readonly atMs: number; readonly callback: () => void }[] = [];

  /** @param requestMs how long a request takes. */
  constructor(perTurn = 2, requestMs = 0) {
    this.#requestMs = requestMs;
    const clock = {
      now: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      after: (delayMs: number, callback: () => void) => {
        this.#due.push({ atMs: this.nowMs + delayMs, callback });
        return () => undefined;
      },
    };
    this.turns = new SubscribeBudget({ perTurn, clock });
  }

  /** Enters a stream with this many requests. */
  enter(name: string, requests: number): Requester {
    let left = requests;
    const requester: Requester = {
      handleNext: () => {
        this.handled.push(name);
        this.nowMs += this.#requestMs;
        return --left > 0;
      },
    };
    this.turns.enter(requester);
    return requester;
  }

  /** Waits for the next turn, and runs it; false if none was asked for. */
  turn(): boolean {
    const due = this.#due.shift();
    this.nowMs = Math.max(this.nowMs, due?.atMs ?? 0);
    due?.callback();
    return due !== undefined;
  }
}

describe("the turns of requests", () => {
  it("lets some be handled at once in each turn of the event loop", () => {
    const { turns } = new Streams();
    expect([turns.take(), turns.take(), turns.take()]).to.deep.equal([true, true, false]);
  });

  it("are taken by streams one request after the other, and before those that come later", () => {
    const streams = new Streams();
    streams.enter("greedy", 4);
    streams.enter("modest", 1);
    expect(streams.turns.take()).to.be.false;
    streams.turn();
    expect(streams.handled).to.deep.equal(["greedy", "modest"]);
    streams.turn();
    streams.turn();
    expect(streams.handled).to.deep.equal(["greedy", "modest", "greedy", "greedy", "greedy"]);
    expect(streams.turns.take()).to.be.true;
    while (streams.turn());
    expect(streams.handled).to.have.length(5);
  });

  it("pass a stream that has left", () => {
    const streams = new Streams();
    const gone = streams.enter("gone", 1);
    streams.enter("there", 1);
    streams.turns.leave(gone);
    while (streams.turn());
    expect(streams.handled).to.deep.equal(["there"]);
  });

  it("take 5 ms at most, and leave as much time to all else", () => {
    const streams = new Streams(64, 2);
    streams.enter("slow", 10);
    streams.turn();
    expect(streams.handled).to.have.length(3);
    expect(streams.nowMs).to.equal(6);
    streams.turn();
    expect(streams.handled).to.have.length(6);
    expect(streams.nowMs).to.equal(18);
  });
});
