import { expect } from "chai";
import { mutableFields } from "./mutable-fields.js";
import { productFile } from "./product-file.js";

describe("mutableFields", () => {
  const fields = (count: number, modifiers = ""): string =>
    Array.from({ length: count }, (_, index) => `${modifiers} f${index} = 0;`).join(" ");

  it("counts classes of over nine fields that may change", () => {
    const text = `class Stream { ${fields(10)} }\nclass Table { ${fields(9)} static count = 0; readonly #map = new Map(); run() {} }`;
    expect(mutableFields([productFile("a.ts", text)]).offenders).to.deep.equal([
      { file: "a.ts", line: 1, text: "Stream: 10 fields that change" },
    ]);
  });

  it("does not count fields that are readonly or static", () => {
    const text = `class Stream { ${fields(20, "readonly")} ${fields(20, "static")} }`;
    expect(mutableFields([productFile("a.ts", text)]).now).to.equal(0);
  });
});
