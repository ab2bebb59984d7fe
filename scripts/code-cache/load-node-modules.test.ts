import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { expect } from "chai";
import {
  flagsOfLauncher,
  flagsOfNode,
  loadNodeModules,
} from "../../packages/agent/launch/load-node-modules.cjs";

/** What V8 has as a flag's own value, in the form that sets it; undefined for a flag that this V8 does not know. */
function ownValueOf(flag: string): string | undefined {
  const { stdout } = spawnSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const name = flag.replace(/^--(no-)?/, "").replace(/=.*/, "");
  return new RegExp(`^  --${name} \\(.*\\n.*default: (--\\S+)$`, "m").exec(stdout)?.[1];
}

describe("the agent's launcher", () => {
  it("sets flags that V8 knows, and others than V8 has by itself", () => {
    // Node 20 is without the middle compiler anyway.
    const isNewV8 = Number.parseInt(process.versions.v8, 10) >= 12;
    const own = { "--no-maglev": isNewV8 ? "--maglev" : "--no-maglev" };
    for (const flag of flagsOfLauncher)
      expect(ownValueOf(flag), flag).to.equal({ [flag]: flag.replace("--no-", "--"), ...own }[flag]);
  });

  it("sets back flags of the image's entrypoint to what V8 has by itself", () => {
    for (const flag of flagsOfNode) expect(ownValueOf(flag)).to.equal(flag);
  });

  it("ends with the flags that the agent runs under", () => {
    const v8 = createRequire(import.meta.url)("node:v8") as { setFlagsFromString: (flag: string) => void };
    const { setFlagsFromString } = v8;
    const set: string[] = [];
    v8.setFlagsFromString = (flag) => void set.push(flag);
    try {
      loadNodeModules();
    } finally {
      v8.setFlagsFromString = setFlagsFromString;
    }
    expect(set).to.deep.equal([...flagsOfNode, ...flagsOfLauncher]);
  });

  it("is checked by what can fail", () => {
    expect(ownValueOf("--expose-g")).to.equal(undefined);
  });
});
