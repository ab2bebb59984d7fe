import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { FlagError } from "./flag-error.js";
import { parseDocument } from "./parse-document.js";

const on = { variants: { on: true }, defaultVariant: "on" };

describe("parseDocument", () => {
  it("gives the flags of a document, each with the metadata and evaluators of the document", () => {
    const { flags, rejectedFlags } = parseDocument(
      {
        flags: { a: { ...on, targeting: { $ref: "always" } }, b: { ...on, metadata: { flagSetId: "own" } } },
        metadata: { flagSetId: "set", owner: null, tags: ["x"] },
        $evaluators: { always: { if: [true, "on"] } },
      },
      { source: "file.json", sourceIndex: 2 },
    );
    expect(rejectedFlags).to.deep.equal([]);
    expect(flags.map(({ key, flagSetId }) => [key, flagSetId])).to.deep.equal([
      ["a", "set"],
      ["b", "own"],
    ]);
    expect(flags[0]).to.deep.include({
      targeting: { if: [true, "on"] },
      metadata: { flagSetId: "set" },
      source: "file.json",
      sourceIndex: 2,
    });
  });

  it("refuses a flag alone, with its key and the reason", () => {
    const { flags, rejectedFlags } = parseDocument({ flags: { a: on, b: { ...on, defaultVariant: "of" } } });
    expect(flags.map(({ key }) => key)).to.deep.equal(["a"]);
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["b"]);
    expect(rejectedFlags[0]?.reason).to.contain('default variant "of"');
  });

  it("reads a list of flags, of which the last with a key and flagSetId counts", () => {
    const { flags, rejectedFlags } = parseDocument({
      flags: [
        { key: "a", ...on },
        { key: "a", ...on, metadata: { flagSetId: "other" } },
        { key: "b", ...on, defaultVariant: "of" },
        { key: "a", ...on, state: "DISABLED" },
      ],
    });
    expect(flags.map(({ flagSetId, state }) => [flagSetId, state])).to.deep.equal([
      ["", "DISABLED"],
      ["other", ""],
    ]);
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["b"]);
  });

  it("refuses a flag without a key, which flagd can't store, in a map and in a list", () => {
    for (const flags of [
      { "": on, a: on },
      [
        { key: "", ...on },
        { key: "a", ...on },
      ],
    ] as JsonValue[]) {
      const parsed = parseDocument({ flags });
      expect(parsed.flags.map(({ key }) => key)).to.deep.equal(["a"]);
      expect(parsed.rejectedFlags[0]?.reason).to.contain("a flag needs a key");
    }
  });

  const invalid: readonly JsonValue[] = [
    null,
    [],
    "flags",
    {},
    { flags: 1 },
    { flags: [1] },
    { flags: [{ key: "a", ...on }, { ...on }] },
    { flags: {}, metadata: [] },
    { flags: {}, $evaluators: "x" },
  ];
  for (const document of invalid) {
    it(`refuses ${JSON.stringify(document)} as a whole`, () => {
      expect(() => parseDocument(document))
        .to.throw(FlagError)
        .with.property("code", "DOCUMENT_INVALID");
    });
  }
});
