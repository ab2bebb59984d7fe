import { expect } from "chai";
import { WrittenVersions } from "./written-versions.js";

describe("WrittenVersions", () => {
  const live = new Map<string, string>();
  let written: WrittenVersions;

  beforeEach(() => {
    live.clear();
    written = new WrittenVersions((key) => live.get(key));
  });

  it("know an object until what it is made of changes, or somebody else has changed or deleted it", () => {
    expect(written.isSame("a", "flag 1")).to.equal(false);
    written.wrote("a", "flag 1", "7");
    expect(written.isSame("a", "flag 1"), "the watch has not told of it yet").to.equal(false);
    live.set("a", "7");
    expect(written.isSame("a", "flag 1")).to.equal(true);
    expect(written.isSame("a", "flag 2")).to.equal(false);
    live.set("a", "8");
    expect(written.isSame("a", "flag 1")).to.equal(false);
  });

  it("forget objects that are gone, so that ever new names do not fill the memory", () => {
    live.set("kept", "1");
    written.wrote("kept", "x", "1");
    for (let index = 0; index < 10_000; index++) written.wrote(`gone-${index}`, "x", "1");
    for (let index = 0; index < 9_000; index++) live.set(`gone-${index}`, "1");
    expect(written.isSame("kept", "x")).to.equal(true);
    expect(written.isSame("gone-1", "x"), "it was forgotten").to.equal(false);
  });
});
