import { expect } from "chai";
import { trimSpace } from "./trim-space.js";

describe("trimSpace", () => {
  it("removes Unicode white space, at both ends only", () => {
    expect(trimSpace("\t\n\v\f\r \u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000a b\u3000 ")).to.equal(
      "a b",
    );
    expect(trimSpace(" \n ")).to.equal("");
    expect(trimSpace("")).to.equal("");
  });

  it("keeps the byte order mark and the zero width space, which are not white space", () => {
    expect(trimSpace("\ufeffa\u200b")).to.equal("\ufeffa\u200b");
  });
});
