import { expect } from "chai";
import { testsBeside } from "./tests-beside.js";

describe("tests beside a file", () => {
  const below = (): readonly string[] => [
    "a/x.model.test.ts",
    "a/x.test.ts",
    "a/xy.test.ts",
    "a/b/x.test.ts",
  ];

  it("are those of its name, or else those of its folder", () => {
    expect(testsBeside("a/x.ts", below)).to.deep.equal(["a/x.model.test.ts", "a/x.test.ts"]);
    expect(testsBeside("a/z.ts", below)).to.deep.equal(["a/x.model.test.ts", "a/x.test.ts", "a/xy.test.ts"]);
  });
});
