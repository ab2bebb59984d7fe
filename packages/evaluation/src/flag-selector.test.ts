import { expect } from "chai";
import { FlagError } from "./flag-error.js";
import { parseFlagSelector } from "./flag-selector.js";
import { parseFlag } from "./parse-flag.js";

const flagOf = (flagSetId: string, source: string) =>
  parseFlag(
    "a",
    {},
    { metadata: flagSetId === "" ? {} : { flagSetId }, evaluators: {}, source, sourceIndex: 0 },
  );

describe("parseFlagSelector", () => {
  it("selects by flag set", () => {
    const selector = parseFlagSelector("flagSetId=shop");
    expect(selector.matches(flagOf("shop", "x"))).to.equal(true);
    expect(selector.matches(flagOf("shopping", "x"))).to.equal(false);
    expect(selector.matches(flagOf("", "shop"))).to.equal(false);
    expect(selector.metadata).to.deep.equal({ flagSetId: "shop" });
  });

  it("selects the flags without a flag set by an empty one", () => {
    const selector = parseFlagSelector("flagSetId=");
    expect(selector.matches(flagOf("", "x"))).to.equal(true);
    expect(selector.matches(flagOf("shop", "x"))).to.equal(false);
    expect(selector.metadata).to.deep.equal({ flagSetId: "" });
  });

  it("takes a text without = as a source, and splits at the first = only", () => {
    expect(parseFlagSelector("flags/all.json").matches(flagOf("", "flags/all.json"))).to.equal(true);
    expect(parseFlagSelector("source=http://a/?x=1").matches(flagOf("", "http://a/?x=1"))).to.equal(true);
    expect(parseFlagSelector("flags/all.json").metadata).to.deep.equal({ source: "flags/all.json" });
  });

  it("selects all flags with an empty text", () => {
    const selector = parseFlagSelector("");
    expect(selector.matches(flagOf("shop", "x"))).to.equal(true);
    expect(selector.metadata).to.deep.equal({});
  });

  it("refuses an unknown key, and quotes it shortened and printable", () => {
    for (const text of ["flagsetid=x", "=x", "key=a", `\u0000${"é".repeat(1_000)}=x`]) {
      expect(() => parseFlagSelector(text))
        .to.throw(FlagError, /^[\p{L}\p{N}\p{P}\p{S} ]{1,400}$/u)
        .with.property("code", "SELECTOR_INVALID");
    }
  });

  it("selects nothing by an empty source, and adds no metadata, as flagd does", () => {
    const selector = parseFlagSelector("source=");
    expect(selector.matches(flagOf("", "file.json"))).to.equal(false);
    expect(selector.metadata).to.deep.equal({});
  });
});
