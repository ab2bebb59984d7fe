import { leastCpu } from "@bunting/test/support/cpu-growth.js";
import { expect } from "chai";
import fc from "fast-check";
import { lineIndex } from "./line-index.js";

describe("lineIndex", () => {
  it("counts lines and columns from 1, in texts of few and of many lines", () => {
    const line = fc.constantFrom("", "", "a", "ab");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 1_000 }), fc.array(fc.nat()), (lines, seeds) => {
        const text = lines.join("\n");
        const positionAt = lineIndex(text);
        for (const seed of seeds) {
          const offset = seed % (text.length + 1);
          const before = text.slice(0, offset).split("\n");
          const column = (before.at(-1) ?? "").length + 1;
          expect(positionAt(offset)).to.deep.equal({ line: before.length, column });
        }
      }),
    );
  });

  it("finds each column of a long line without a look at the rest of it", async () => {
    const text = "x".repeat(4_000_000);
    const positionAt = lineIndex(text);
    const found = await leastCpu(() => {
      let wrong = 0;
      for (let column = 1; column <= 20_000; column++) if (positionAt(column - 1).column !== column) wrong++;
      expect(wrong).to.equal(0);
    });
    const looks = await leastCpu(() => {
      for (let i = 0; i < 200; i++) expect(text.indexOf("\n", i)).to.equal(-1);
    });
    expect(found, "less than 200 looks for the end of the line").to.be.lessThan(looks);
  });
});
