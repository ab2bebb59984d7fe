import { expect } from "chai";
import fc from "fast-check";
import { parseReaders, readersOfMetadata } from "./readers.js";

describe("the annotation bunting.dev/readers", () => {
  it("shares with namespaces and with ServiceAccounts", () => {
    const { readers, warnings } = parseReaders(" team-a , team-b/checkout,team-c/web.v2");
    expect(warnings).to.deep.equal([]);
    expect([...(readers ?? [])]).to.deep.equal(["team-a", "team-b/checkout", "team-c/web.v2"]);
  });

  it("shares nothing if it is absent, empty, or no text", () => {
    for (const value of [undefined, ""])
      expect(parseReaders(value)).to.deep.equal({ readers: undefined, warnings: [] });
    expect(parseReaders(7).readers).to.equal(undefined);
    expect(parseReaders(7).warnings).to.have.length(1);
  });

  for (const entry of [
    "*",
    "team-*",
    "*/*",
    "team-a/*",
    "Team-A",
    "team_a",
    "team-a/",
    "/web",
    "a/b/c",
    "-a",
    "a-",
    "a.b",
    ",",
    " ",
    "tëam",
  ]) {
    it(`names the entry ${JSON.stringify(entry)} in a warning, and uses the others`, () => {
      const { readers, warnings } = parseReaders(`${entry},team-z`);
      expect([...(readers ?? [])]).to.deep.equal(["team-z"]);
      expect(warnings.length).to.be.greaterThan(0);
      for (const warning of warnings)
        expect(warning).to.match(/^the entry ".*" of the annotation bunting\.dev\/readers shares nothing: /);
    });
  }

  it("says what to do in place of wildcards", () => {
    expect(parseReaders("*").warnings[0]).to.contain("--authorize=all");
  });

  it("shares nothing if it has more entries than it may", () => {
    const { readers, warnings } = parseReaders(
      Array.from({ length: 1_001 }, (_, index) => `n${index}`).join(),
    );
    expect(readers).to.equal(undefined);
    expect(warnings[0]).to.contain("more than 1000 entries");
  });

  it("names at most ten malformed entries", () => {
    expect(parseReaders("*,".repeat(50)).warnings).to.have.length(10);
  });

  it("never has a reader that no entry names", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const entries = value.split(",").map((entry) => entry.trim());
        return [...(parseReaders(value).readers ?? [])].every((reader) => entries.includes(reader));
      }),
    );
  });

  it("is found in the metadata of an object, whatever shape that has", () => {
    expect(readersOfMetadata({ annotations: { "bunting.dev/readers": "a" } })).to.equal("a");
    for (const metadata of [
      undefined,
      null,
      {},
      { annotations: null },
      { annotations: "a" },
      { annotations: {} },
      7,
    ])
      expect(readersOfMetadata(metadata)).to.equal(undefined);
  });
});
