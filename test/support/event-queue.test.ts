import { expect } from "chai";
import { eventually } from "./event-queue.js";
import { patient } from "./patience.js";

describe("eventually", () => {
  it("looks until it is so", async () => {
    let looked = 0;
    await eventually(() => ++looked === 3, "the third look");
    await eventually(() => Promise.resolve(++looked === 6), "the sixth look");
    expect(looked).to.equal(6);
  });

  it("looks less often the longer it has waited, where a look is a request", async () => {
    let looks = 0;
    const never = eventually(() => Promise.resolve(++looks < 0), "what never is", 500);
    expect(await never.catch((error: unknown) => (error as Error).message)).to.equal(
      `what never is: not within ${patient(500)} ms`,
    );
    // Every 5 ms there would be a hundred; a busy machine has fewer in any case.
    expect(looks).to.be.within(2, patient(50));
  });

  it("fails when a look does", async () => {
    const fails = eventually(() => Promise.reject(new Error("refused")), "an answer");
    expect(await fails.catch((error: unknown) => (error as Error).message)).to.equal("refused");
  });
});
