import fc from "fast-check";
import { commands } from "./tiers/command.js";
import { TiersModel } from "./tiers/tiers-model.js";

/** `TIERS_RUNS=200` tries more than a test run has time for. */
const numRuns = Number(process.env["TIERS_RUNS"] ?? 12);

describe("three levels of proxies, whatever happens to the second and its connections, of which one proxy is left", function () {
  this.timeout(Math.max(240_000, 20_000 * numRuns));

  it("bring every reader of the third level to the last version, through nothing but versions of the first, in their order", async () => {
    await fc.assert(
      fc.asyncProperty(commands, fc.nat(1), async (all, survivor) => {
        const model = await TiersModel.start();
        try {
          for (const one of all) await model.run(one);
          await model.judge(survivor);
        } finally {
          await model.close();
        }
      }),
      // What depends on time is not made shorter by trying again, and each try may take as long as a test waits.
      { numRuns, endOnFailure: true },
    );
  });
});
