import { expect } from "chai";
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
});
