import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { Turns } from "./turns.js";

describe("Turns", () => {
  let clock: ManualClock;
  let turns: Turns;

  beforeEach(() => {
    clock = new ManualClock();
    turns = new Turns(clock);
  });

  const work =
    (ms: number, isDone = true) =>
    (): Promise<boolean> => {
      clock.advance(ms);
      return Promise.resolve(isDone);
    };

  it("come once in a second to a key, and to others meanwhile", async () => {
    expect(await turns.take("a", work(10))).to.equal(undefined);
    clock.advance(400);
    const refused = (): Promise<boolean> => Promise.reject(new Error("it is not its turn"));
    expect(await turns.take("a", refused)).to.deep.equal({ requeueAfterMs: 600, isPutOff: true });
    expect(await turns.take("b", work(10))).to.equal(undefined);
    clock.advance(600);
    expect(await turns.take("a", work(10))).to.equal(undefined);
  });

  it("come later after a long one, which takes a fifth of the time at most", async () => {
    await turns.take("a", work(2_000));
    expect(await turns.take("a", work(0))).to.deep.equal({ requeueAfterMs: 8_000, isPutOff: true });
    await turns.take("b", work(60_000));
    expect(await turns.take("b", work(0))).to.deep.equal({ requeueAfterMs: 30_000, isPutOff: true });
  });

  it("come again to a key whose work was too much for one, or has failed", async () => {
    expect(await turns.take("a", work(10, false))).to.deep.equal({ requeueAfterMs: 1_000 });
    const error = await turns.take("b", () => Promise.reject(new Error("no"))).catch((each: unknown) => each);
    expect(error).to.have.property("message", "no");
    expect(await turns.take("b", work(0))).to.deep.equal({ requeueAfterMs: 1_000, isPutOff: true });
  });
});
