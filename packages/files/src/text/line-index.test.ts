import { expect } from "chai";
import fc from "fast-check";
import { LineIndex } from "./line-index.js";

describe("LineIndex", () => {
  it("counts lines and columns from 1, in texts of few and of many lines", () => {
    const line = fc.constantFrom("", "", "a", "ab");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 1_000 }), fc.nat(), (lines, seed) => {
        const text = lines.join("\n");
        const offset = seed % (text.length + 1);
        const before = text.slice(0, offset).split("\n");
        const column = (before.at(-1) ?? "").length + 1;
        expect(new LineIndex(text).positionOf(offset)).to.deep.equal({ line: before.length, column });
      }),
    );
  });
});
