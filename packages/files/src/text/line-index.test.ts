import { expect } from "chai";
import fc from "fast-check";
import { LineIndex } from "./line-index.js";

describe("LineIndex", () => {
  it("counts lines and columns from 1, in texts of few and of many lines", () => {
    const line = fc.constantFrom("", "", "a", "ab");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 1_000 }), fc.array(fc.nat()), (lines, seeds) => {
        const text = lines.join("\n");
        const index = new LineIndex(text);
        for (const seed of seeds) {
          const offset = seed % (text.length + 1);
          const before = text.slice(0, offset).split("\n");
          const column = (before.at(-1) ?? "").length + 1;
          expect(index.positionOf(offset)).to.deep.equal({ line: before.length, column });
        }
      }),
    );
  });

  it("answers at once on a line of 4 MB", () => {
    const index = new LineIndex("x".repeat(4_000_000));
    const beganMs = performance.now();
    for (let column = 1; column <= 100_000; column++) {
      expect(index.positionOf(column - 1).column).to.equal(column);
    }
    expect(performance.now() - beganMs).to.be.lessThan(5_000);
  });
});
