import { expect } from "chai";
import { yamlText } from "./yaml-text.js";

describe("yamlText", () => {
  it("keeps long texts on a line, and ends without a line end", () => {
    const long = "word ".repeat(60).trim();
    expect(yamlText({ a: long, list: [1] })).to.equal(`a: ${long}\nlist:\n  - 1`);
  });
});
