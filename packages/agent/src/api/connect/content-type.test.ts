import { expect } from "chai";
import { unaryCallTypes } from "./content-type.js";

describe("CallTypes", () => {
  it("takes a content type in any case, with white space and a charset", () => {
    for (const given of ["application/json", "Application/JSON", ' application/json ; charset="UTF-8" ;'])
      expect(unaryCallTypes.of(given)?.protocol, given).to.equal("connect");
    expect(unaryCallTypes.of("text/plain")).to.equal(undefined);
  });

  // The expression took 7 s for 100,000 of them.
  it("does not look into a content type that is longer than any", () => {
    expect(unaryCallTypes.of(`application/json;${" ".repeat(900_000)}x`)).to.equal(undefined);
  });
});
