import fc from "fast-check";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { commands } from "./fan-out/command.js";
import { FanOutModel } from "./fan-out/fan-out-model.js";
import { ackTimeoutMs, graceMs, lingerMs } from "./fan-out/replica.js";

/** `FAN_OUT_RUNS=400` tries more than a test run has time for. */
const numRuns = Number(process.env["FAN_OUT_RUNS"] ?? scaled(120, 24));

describe("two proxies, whatever happens to them and to their subscribers", function () {
  this.timeout(Math.max(120_000, 2_000 * numRuns));

  it("bring every subscriber of either protocol to the last version, never backwards, and keep nothing of those that left", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("keep" as const, "empty" as const, "close" as const),
        commands([1_000, lingerMs, ackTimeoutMs, graceMs]),
        async (deletionPolicy, all) => {
          const model = await FanOutModel.start(deletionPolicy);
          try {
            for (const one of all) await model.run(one);
            await model.recover();
            try {
              await eventually(() => model.isSettled(), "everyone at the last version");
            } catch (error) {
              throw new Error(`${(error as Error).message}: ${model.describe()}`, { cause: error });
            }
            await model.judgeEnd();
          } finally {
            await model.close();
          }
        },
      ),
      { numRuns, interruptAfterTimeLimit: Math.max(100_000, 1_800 * numRuns) },
    );
  });
});
