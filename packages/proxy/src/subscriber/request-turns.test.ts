import { expect } from "chai";
import { RequestTurns, type Requester } from "./request-turns.js";

/** Streams with some requests each, of which two a turn are handled. */
class Streams {
  readonly handled: string[] = [];
  readonly turns: RequestTurns;
  readonly #due: (() => void)[] = [];

  constructor() {
    this.turns = new RequestTurns({ perTurn: 2, nextTurn: (callback) => this.#due.push(callback) });
  }

  /** Enters a stream with this many requests. */
  enter(name: string, requests: number): Requester {
    let left = requests;
    const requester: Requester = {
      handleNext: () => {
        this.handled.push(name);
        return --left > 0;
      },
    };
    this.turns.enter(requester);
    return requester;
  }

  /** Runs one turn of the event loop; false if none was asked for. */
  turn(): boolean {
    const due = this.#due.shift();
    due?.();
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
});
