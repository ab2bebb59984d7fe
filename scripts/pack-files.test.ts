import { expect } from "chai";
import { packFiles } from "./pack-files.js";

describe("packing of test files", () => {
  const seconds: Readonly<Record<string, number>> = { a: 1, b: 9, c: 5, d: 4, e: 3, f: 2 };
  const secondsOf = (file: string): number => seconds[file] ?? 0;

  it("starts the longest first, and gives each run about as much to do", () => {
    expect(packFiles(["a", "b", "c", "d", "e", "f"], secondsOf, 3)).to.deep.equal([
      ["b"],
      ["c", "f", "a"],
      ["d", "e"],
    ]);
  });

  it("gives every file to one run", () => {
    const files = Array.from({ length: 50 }, (_, index) => `file-${index}`);
    const packed = packFiles(files, () => 1, 4);
    expect(packed.flat().sort()).to.deep.equal([...files].sort());
    for (const run of packed) expect(run.length).to.be.within(12, 13);
  });

  it("packs files that take the same by name, so that every run of them is alike", () => {
    expect(packFiles(["b", "c", "a"], () => 1, 3)).to.deep.equal([["a"], ["b"], ["c"]]);
  });

  it("makes no run without a file, which would fail", () => {
    expect(packFiles(["a", "b"], secondsOf, 4)).to.deep.equal([["b"], ["a"]]);
    expect(packFiles([], secondsOf, 4)).to.deep.equal([]);
  });
});
