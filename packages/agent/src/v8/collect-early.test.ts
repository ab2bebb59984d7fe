import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { collectionPercent } from "./collect-early.js";

const megabyte = 1024 * 1024;

describe("collectEarly", () => {
  it("has less garbage come together the less is in use, and leaves a large heap to V8", () => {
    const percents = [0, 8, 12, 24, 40, 79, 80, 500].map((used) => collectionPercent(used * megabyte));
    expect(percents).to.deep.equal([15, 15, 15, 30, 50, 99, 0, 0]);
  });

  // The option is V8's own business: another version may drop it, and nothing would say so.
  it("is understood by this V8: a process with it collects more often", () => {
    const module = path.join(import.meta.dirname, "collect-early.ts");
    expect(existsSync(module)).to.equal(true);
    const collections = (isEarly: boolean): number => {
      const script = `
        import { collectEarly } from ${JSON.stringify(module)};
        if (${isEarly}) collectEarly();
        const kept = new Array(60_000);
        for (let i = 0; i < 1_000_000; i++) kept[i % kept.length] = { i, text: "text " + i };`;
      const { stdout, status } = spawnSync(
        process.execPath,
        [
          "--conditions=@bunting/source",
          "--import=tsx",
          "--trace-gc",
          "--max-semi-space-size=1",
          "--input-type=module",
          "-e",
          script,
        ],
        { encoding: "utf8" },
      );
      expect(status).to.equal(0);
      return stdout.split("\n").filter((line) => line.includes("Mark-Compact")).length;
    };
    expect(collections(true)).to.be.greaterThan(1.5 * collections(false));
  });
});
