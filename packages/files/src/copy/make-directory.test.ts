import { expect } from "chai";
import { execFileSync } from "node:child_process";
import { existsSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { checkCopies } from "./check-copies.js";
import { makeDirectory } from "./make-directory.js";

describe("makeDirectory", () => {
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(() => directory.remove());

  it("makes a directory and those above it, also where it is there already or made by another at the same time", async () => {
    const below = path.join(directory.path, "a/b/c");
    await Promise.all([makeDirectory(below), makeDirectory(below)]);
    await makeDirectory(below);
    expect(statSync(below).isDirectory()).to.equal(true);
  });

  it("fails at a file and below one", async () => {
    const file = path.join(directory.path, "file");
    writeFileSync(file, "");
    for (const [at, code] of [
      [file, "EEXIST"],
      [path.join(file, "a"), "ENOTDIR"],
    ] as const) {
      const error = await makeDirectory(at).catch((cause: unknown) => cause);
      expect(error).to.have.property("code", code);
    }
  });

  // In a process of its own, which can be killed: with the option recursive, mkdir takes a thread for ever.
  for (const [{ name }, file] of [
    [makeDirectory, "make-directory.ts"],
    [checkCopies, "check-copies.ts"],
  ] as const)
    it(`fails where nothing can be made in a directory that exists, and so does all that uses it: ${name}`, function () {
      if (!existsSync("/proc/self")) this.skip();
      const module = new URL(file, import.meta.url).href;
      const script = `import { ${name} } from ${JSON.stringify(module)};
      await ${name}("/proc/bunting/a").catch((error) => console.log(error.code));`;
      const printed = execFileSync(
        process.execPath,
        ["--conditions=@bunting/source", "--import=tsx", "--input-type=module", "--eval", script],
        { timeout: 10_000, killSignal: "SIGKILL" },
      );
      expect(printed.toString()).to.equal("ENOENT\n");
    });
});
