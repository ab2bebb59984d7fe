import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { expect } from "chai";
import { amend } from "./amend.js";

describe("an amendment of a dependency", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "bunting-amend-"));
    mkdirSync(path.join(folder, "node_modules/dep"), { recursive: true });
    writeFileSync(path.join(folder, "node_modules/dep/index.js"), "module.exports = 'kept and lost';\n");
    writeFileSync(path.join(folder, "main.js"), "console.log(require('dep'));\n");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const bundled = async (find: string): Promise<string> => {
    const outfile = path.join(folder, "out.js");
    await build({
      entryPoints: [path.join(folder, "main.js")],
      outfile,
      bundle: true,
      logLevel: "silent",
      plugins: [amend([{ of: "dep", file: "index.js", find, replaceWith: "$& amended", reason: "" }])],
    });
    return readFileSync(outfile, "utf8");
  };

  it("changes the text, literally, and nothing else", async () => {
    expect(await bundled("and lost")).to.include('"kept $& amended"');
  });

  for (const [what, find] of [
    ["is no longer there", "and found"],
    ["is there more than once", "t"],
  ] as const)
    it(`fails the build if the text ${what}`, async () => {
      const error = await bundled(find).catch((cause: unknown) => cause);
      expect(String(error)).to.include(
        `dep/index.js has no longer, or more than once, what is to be amended: ${find}`,
      );
    });
});
