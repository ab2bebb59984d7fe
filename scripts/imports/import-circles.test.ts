import { expect } from "chai";
import { importCircles } from "./import-circles.js";

describe("importCircles", () => {
  const circlesOf = (imports: Readonly<Record<string, readonly string[]>>): string[][] =>
    importCircles(Object.keys(imports), (file) => imports[file] ?? []);

  it("finds files that import each other through others", () => {
    expect(circlesOf({ main: ["a"], a: ["b"], b: ["c", "leaf"], c: ["a"], leaf: [] })).to.deep.equal([
      ["a", "b", "c"],
    ]);
  });

  it("finds two circles, of which one imports the other", () => {
    expect(circlesOf({ a: ["b"], b: ["a", "c"], c: ["d"], d: ["c"] })).to.deep.equal([
      ["c", "d"],
      ["a", "b"],
    ]);
  });

  it("finds none where two ways lead to one file", () => {
    expect(circlesOf({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] })).to.deep.equal([]);
  });
});
