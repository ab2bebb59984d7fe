import { existsSync } from "node:fs";
import { expect } from "chai";
import { filesOfScale, nightFiles } from "./night-files.js";

const night = Object.keys(nightFiles);

describe("the files of tests that are left to the night", () => {
  for (const [file, standIns] of Object.entries(nightFiles)) {
    it(`have others of the gate in their place: ${file}`, () => {
      expect(existsSync(file), file).to.equal(true);
      expect(standIns).not.to.deep.equal([]);
      for (const standIn of standIns) expect(existsSync(standIn), standIn).to.equal(true);
      expect(filesOfScale(standIns, "gate")).to.deep.equal(standIns);
    });
  }

  it("are all that is left out, and run at full scale", () => {
    const other = "test/abuse/peer-memory.test.ts";
    expect(filesOfScale([...night, other], "gate")).to.deep.equal([other]);
    expect(filesOfScale([...night, other], "full")).to.deep.equal([...night, other]);
  });
});
