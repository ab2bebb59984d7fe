import { expect } from "chai";
import { shareInFlight } from "./share-in-flight.js";

describe("shareInFlight", () => {
  it("starts one run for all who call while it is under way, and another one afterwards", async () => {
    let runs = 0;
    const settle: (() => void)[] = [];
    const read = shareInFlight(() => {
      const run = ++runs;
      return new Promise<number>((resolve) => settle.push(() => resolve(run)));
    });
    const first = [read(), read()];
    settle[0]?.();
    expect(await Promise.all(first)).to.deep.equal([1, 1]);
    const second = read();
    settle[1]?.();
    expect(await second).to.equal(2);
  });

  it("lets all who wait fail together, and the next one try again", async () => {
    let runs = 0;
    const read = shareInFlight(() => {
      runs++;
      return runs === 1 ? Promise.reject(new Error("no")) : Promise.resolve("yes");
    });
    const failures = await Promise.allSettled([read(), read()]);
    expect(failures.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect([await read(), runs]).to.deep.equal(["yes", 2]);
  });
});
