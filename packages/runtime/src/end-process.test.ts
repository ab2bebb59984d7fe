import { spawnSync } from "node:child_process";
import { expect } from "chai";

describe("endProcess", () => {
  // In processes of their own, which can be killed.
  for (const [what, more] of [
    ["though something is still under way", "setInterval(() => undefined, 1_000);"],
    ["at once where nothing is", ""],
  ] as const)
    it(`ends the process with its exit code ${what}`, () => {
      const module = new URL("cli.ts", import.meta.url).href;
      const script = `import { endProcess } from ${JSON.stringify(module)}; ${more} endProcess(3);`;
      const { status, signal, stderr } = spawnSync(
        process.execPath,
        ["--conditions=@bunting/source", "--import=tsx", "--input-type=module", "--eval", script],
        { timeout: 20_000, killSignal: "SIGKILL", encoding: "utf8" },
      );
      expect({ status, signal, stderr }).to.deep.equal({ status: 3, signal: null, stderr: "" });
    });
});
