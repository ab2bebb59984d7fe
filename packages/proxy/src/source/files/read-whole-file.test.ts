import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import { useDirectory } from "../source.fixture.js";
import { readStamp, type FileStamp } from "./file-stamp.js";
import { readWholeFile } from "./read-whole-file.js";

describe("readWholeFile", () => {
  const directory = useDirectory();
  const path = (): string => join(directory.path, "a.json");
  const stamp = async (): Promise<FileStamp> => {
    const found = await readStamp(path(), directory.path);
    if (found === undefined) throw new Error("no file");
    return found;
  };

  beforeEach(() => {
    mkdirSync(directory.path);
    writeFileSync(path(), "one");
  });

  it("reads the file that was looked at", async () => {
    expect(String(await readWholeFile(path(), await stamp()))).to.equal("one");
    writeFileSync(path(), "");
    expect(String(await readWholeFile(path(), await stamp()))).to.equal("");
    writeFileSync(path(), "x".repeat(3_000_000));
    expect(await readWholeFile(path(), await stamp())).to.have.length(3_000_000);
  });

  it("reads nothing of a file that grew or was replaced since", async () => {
    const looked = await stamp();
    appendFileSync(path(), "+");
    expect(await readWholeFile(path(), looked)).to.equal(undefined);
    const again = await stamp();
    writeFileSync(`${path()}.new`, "two+");
    renameSync(`${path()}.new`, path());
    expect(await readWholeFile(path(), again)).to.equal(undefined);
  });

  it("does not wait for a pipe that took the file's place", async () => {
    const looked = await stamp();
    rmSync(path());
    execFileSync("mkfifo", [path()]);
    expect(await readWholeFile(path(), looked)).to.equal(undefined);
  });
});
