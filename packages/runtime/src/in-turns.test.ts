import { expect } from "chai";
import { inTurns } from "./in-turns.js";

/** Keeps the process busy for longer than a turn. */
function work(): void {
  const untilMs = performance.now() + 20;
  while (performance.now() < untilMs);
}

describe("inTurns", () => {
  it("lets everything else have its turn between steps that take long, and resolves with the result", async () => {
    const seen: string[] = [];
    function* steps(): Generator<void, string> {
      for (const step of ["one", "two", "three"]) {
        seen.push(step);
        setImmediate(() => seen.push(`after ${step}`));
        work();
        yield;
      }
      return "done";
    }
    expect(await inTurns(steps())).to.equal("done");
    expect(seen).to.deep.equal(["one", "after one", "two", "after two", "three", "after three"]);
  });

  it("rejects with what a step throws", async () => {
    function* steps(): Generator<void, void> {
      yield;
      throw new Error("it can't go on");
    }
    const failure = await inTurns(steps()).catch((error: unknown) => error);
    expect(String(failure)).to.equal("Error: it can't go on");
  });
});
