import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { examine, type FileStamp } from "./file-stamp.js";
import { readWholeFile } from "./read-whole-file.js";

describe("readWholeFile", () => {
  let directory: TempDirectory;
  let path: string;
  const stamp = async (): Promise<FileStamp> => {
    const found = await examine(path, directory.path);
    if (typeof found !== "object") throw new Error("no file");
    return found;
  };
  beforeEach(() => {
    directory = new TempDirectory();
    path = directory.file("a.json");
    writeFileSync(path, "one");
  });
  afterEach(() => directory.remove());

  it("reads the file that was looked at", async () => {
    expect(String(await readWholeFile(path, await stamp()))).to.equal("one");
    writeFileSync(path, "");
    expect(String(await readWholeFile(path, await stamp()))).to.equal("");
    writeFileSync(path, "x".repeat(3_000_000));
    expect(await readWholeFile(path, await stamp())).to.have.length(3_000_000);
  });

  it("reads nothing of a file that grew or was replaced since", async () => {
    const looked = await stamp();
    appendFileSync(path, "+");
    expect(await readWholeFile(path, looked)).to.equal(undefined);
    const again = await stamp();
    directory.replace("a.json", "two+");
    expect(await readWholeFile(path, again)).to.equal(undefined);
  });

  it("does not wait for a pipe that took the file's place", async () => {
    const looked = await stamp();
    rmSync(path);
    execFileSync("mkfifo", [path]);
    expect(await readWholeFile(path, looked)).to.equal(undefined);
  });
});
