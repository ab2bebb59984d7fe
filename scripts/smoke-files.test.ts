import { expect } from "chai";
import { nightFiles } from "./night-files.js";
import { filesOfEntry, smokeEntries, smokeFiles } from "./smoke-files.js";
import { allTestFiles } from "./test-files.js";

describe("the smoke of another node", () => {
  for (const entry of smokeEntries) {
    it(`has tests of ${entry.join(" or ")}, which may have been moved`, () => {
      expect(filesOfEntry(entry)).not.to.deep.equal([]);
    });
  }

  it("runs each file once, and leaves most of them to the nightly gate", () => {
    const files = smokeFiles();
    expect(new Set(files).size).to.equal(files.length);
    expect(files.length).to.be.lessThan(allTestFiles().length / 2);
  });

  it("leaves to the night what the gate leaves to it", () => {
    const left = smokeFiles("full").filter((file) => !smokeFiles("gate").includes(file));
    expect(left).not.to.deep.equal([]);
    for (const file of left) expect(nightFiles).to.have.property(file);
    expect(smokeFiles("gate").filter((file) => Object.hasOwn(nightFiles, file))).to.deep.equal([]);
  });
});
