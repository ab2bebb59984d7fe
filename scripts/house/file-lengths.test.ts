import { expect } from "chai";
import { fileLengths } from "./file-lengths.js";
import { productFile } from "./product-file.js";

describe("fileLengths", () => {
  it("sums all lines but those of the operator, and names the longest file and those that are too long", () => {
    const files = [
      productFile("a.ts", "export {};\n\n// why\n"),
      productFile("b.ts", "\n".repeat(351)),
      productFile("c.ts", "\n".repeat(350)),
      productFile("packages/operator/src/a.ts", "\n".repeat(7)),
      productFile("packages/cli/src/operator/a.ts", "\n".repeat(7)),
    ];
    expect(fileLengths(files)).to.deep.equal([
      { name: "product lines", now: 704, offenders: [] },
      { name: "longest file", now: 351, offenders: [{ file: "b.ts", line: 1, text: "351 lines" }] },
      { name: "files over 350 lines", now: 1, offenders: [{ file: "b.ts", line: 1, text: "351 lines" }] },
    ]);
  });
});
