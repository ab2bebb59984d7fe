import { expect } from "chai";
import { SpecSize } from "./spec-size.js";

describe("SpecSize", () => {
  const text = (characters: number): { readonly text: string } => ({ text: "x".repeat(characters) });
  const sources = (length: number): { readonly sources: readonly unknown[] } => ({
    sources: Array.from({ length }, () => ({})),
  });

  it("refuses what is too large together, also if it is one object that is named again", () => {
    const spec = text(100_000);
    const size = new SpecSize();
    expect([size.add(spec), size.add(spec), size.add(spec)?.reason]).to.deep.equal([
      undefined,
      undefined,
      "TooMany",
    ]);
    expect(new SpecSize().add(text(262_000))).to.equal(undefined);
    expect(new SpecSize().add(text(263_000))).to.have.property("reason", "TooMany");
  });

  it("refuses more sources than an argument has room for", () => {
    const size = new SpecSize();
    expect([size.add(sources(512)), size.add(sources(488)), size.add(sources(1))?.reason]).to.deep.equal([
      undefined,
      undefined,
      "TooMany",
    ]);
  });
});
