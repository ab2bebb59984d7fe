import { expect } from "chai";
import { OneAtATime } from "./one-at-a-time.js";

describe("OneAtATime", () => {
  it("never runs twice at a time, and once more for all who asked meanwhile", async () => {
    let runs = 0;
    let atOnce = 0;
    const job = new OneAtATime(async () => {
      runs++;
      expect(++atOnce).to.equal(1);
      await Promise.resolve();
      atOnce--;
    });
    await Promise.all([job.request(), job.request(), job.request()]);
    expect(runs).to.equal(2);
  });

  it("resolves for a run that began after the call", async () => {
    const begun: number[] = [];
    let turn = 0;
    const job = new OneAtATime(async () => {
      begun.push(turn);
      await Promise.resolve();
    });
    void job.request();
    turn = 1;
    await job.request();
    expect(begun).to.deep.equal([0, 1]);
  });

  it("takes a request made in the gap between two runs into the second", async () => {
    let atOnce = 0;
    let most = 0;
    const job = new OneAtATime(async () => {
      most = Math.max(most, ++atOnce);
      await new Promise(setImmediate);
      atOnce--;
    });
    const first = job.request();
    void job.request();
    await first.then(() => job.request());
    await job.idle();
    expect(most).to.equal(1);
  });

  it("is idle once nothing runs and nothing is asked for", async () => {
    let runs = 0;
    const job = new OneAtATime(async () => {
      await new Promise(setImmediate);
      runs++;
    });
    void job.request();
    void job.request();
    await job.idle();
    expect(runs).to.equal(2);
  });
});
