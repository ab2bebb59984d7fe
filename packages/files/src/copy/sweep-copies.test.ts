import { existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { sweepCopies } from "./sweep-copies.js";

describe("sweepCopies", () => {
  it("removes what killed writers have left, beside what can't be removed, and leaves what may still be written", async () => {
    const directory = new TempDirectory();
    const hourAgo = Date.now() / 1000 - 3_600;
    try {
      // Whatever order a directory is listed in, some come after these.
      for (const at of ["1", "5", "9"]) {
        symlinkSync("nowhere", directory.file(`${at}-link.tmp`));
        mkdirSync(directory.file(`${at}-directory.tmp`));
        utimesSync(directory.file(`${at}-directory.tmp`), hourAgo, hourAgo);
        writeFileSync(directory.file(`${at}-old.tmp`), "");
        utimesSync(directory.file(`${at}-old.tmp`), hourAgo, hourAgo);
        writeFileSync(directory.file(`${at}-new.tmp`), "");
      }
      await sweepCopies(directory.path, () => true);
      for (const at of ["1", "5", "9"]) {
        expect(existsSync(directory.file(`${at}-old.tmp`)), at).to.equal(false);
        expect(existsSync(directory.file(`${at}-new.tmp`)), at).to.equal(true);
      }
      await sweepCopies(directory.file("not there"), () => true);
    } finally {
      directory.remove();
    }
  });
});
