import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { Rerun } from "./rerun.js";

describe("Rerun", () => {
  /** Runs that last until they are ended, by the signal or by `end`. */
  class Runs {
    readonly started: string[] = [];
    readonly rerun = new Rerun(async (files, signal) => {
      this.started.push(files.join(" "));
      await new Promise<void>((resolve) => {
        this.end = resolve;
        signal.addEventListener("abort", () => resolve());
      });
    });
    end = (): void => undefined;
  }

  it("runs what a change during a run affects together with what had not ended", async () => {
    const runs = new Runs();
    runs.rerun.start(["b", "a"]);
    await setImmediate();
    runs.rerun.start(["c", "a"]);
    await setImmediate();
    expect(runs.started).to.deep.equal(["a b", "a b c"]);
    await runs.rerun.stop();
  });

  it("runs after a run that has ended only what the next change affects", async () => {
    const runs = new Runs();
    runs.rerun.start(["a"]);
    await setImmediate();
    runs.end();
    await setImmediate();
    runs.rerun.start(["b"]);
    await setImmediate();
    expect(runs.started).to.deep.equal(["a", "b"]);
    await runs.rerun.stop();
  });

  it("starts one run for changes that come before the first has started", async () => {
    const runs = new Runs();
    runs.rerun.start(["a"]);
    runs.rerun.start(["b"]);
    await setImmediate();
    expect(runs.started).to.deep.equal(["a b"]);
    await runs.rerun.stop();
  });
});
