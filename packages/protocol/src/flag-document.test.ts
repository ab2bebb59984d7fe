import { expect } from "chai";
import {
  emptyFlagDocument,
  encodeDocument,
  normaliseDocument,
  normalising,
  readDocument,
} from "./flag-document.js";
import type { JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";

const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

function refusal(value: JsonValue | undefined): ProtocolError {
  try {
    normaliseDocument(value);
  } catch (error) {
    expect(error).to.be.instanceOf(ProtocolError);
    return error as ProtocolError;
  }
  return expect.fail("the document was accepted");
}

function stepsOf(value: JsonValue): number {
  return [...normalising(value)].length;
}

describe("normaliseDocument", () => {
  it("keeps the fields flagd defines and nothing else, as the Python provider refuses a flag with any other", () => {
    const { document, warnings } = normaliseDocument({
      flags: {
        a: { ...flag, key: "a", description: "x", targeting: { if: [true, "on"] }, metadata: { v: 1 } },
      },
    });
    expect(document).to.deep.equal({
      flags: { a: { ...flag, targeting: { if: [true, "on"] }, metadata: { v: 1 } } },
    });
    expect(warnings).to.deep.equal([]);
  });

  it("turns a list of flags into a map with the later of two that share a key, and warns of it", () => {
    const { document, warnings } = normaliseDocument({
      flags: [
        { key: "a", ...flag },
        { key: "a", ...flag, defaultVariant: "off" },
      ],
    });
    expect(document.flags).to.deep.equal({ a: { ...flag, defaultVariant: "off" } });
    expect(warnings).to.have.length(1);
  });

  it("gives flags of people an empty default variant where they have none, and leaves those of a proxy as they are", () => {
    const flags = { a: { state: "ENABLED" }, b: { state: "ENABLED", defaultVariant: null }, c: flag };
    expect(encodeDocument(readDocument({ flags }).document)).to.contain(
      '{"a":{"defaultVariant":"","state":"ENABLED"},"b":{"defaultVariant":"","state":"ENABLED"},"c":{"defaultVariant":"',
    );
    expect(normaliseDocument({ flags }).document.flags["a"]).to.deep.equal({ state: "ENABLED" });
  });

  it("takes of listed flags that share a key only the last into account, whichever of them can't be served", () => {
    const broken = { key: "a", ...flag, variants: [] };
    const mended = readDocument({ flags: [broken, { key: "a", ...flag }] });
    expect(mended).to.deep.include({ document: { flags: { a: flag } }, refused: [] });
    const spoilt = readDocument({ flags: [{ key: "a", ...flag }, broken] });
    expect(spoilt.document.flags).to.deep.equal({});
    expect(spoilt.refused.map(({ key }) => key)).to.deep.equal(["a"]);
  });

  it("reads a list of flags in as many steps as a map of them", () => {
    const list = Array.from({ length: 5_000 }, (_, i) => ({ key: `flag-${i}`, ...flag }));
    const map = Object.fromEntries(list.map(({ key, ...rest }) => [key, rest]));
    expect(stepsOf({ flags: list })).to.equal(stepsOf({ flags: map }));
  });

  it("strips metadata that is not a string, number or boolean, and says which", () => {
    const { document, warnings } = normaliseDocument({
      flags: { a: { ...flag, metadata: { ok: "x", list: [1], none: null } } },
      metadata: { version: 2, nested: {} },
    });
    expect(document.metadata).to.deep.equal({ version: 2 });
    expect(document.flags["a"]).to.have.property("metadata").that.deep.equals({ ok: "x" });
    expect(warnings.map(({ path }) => path.join("."))).to.deep.equal([
      "flags.a.metadata.list",
      "flags.a.metadata.none",
      "metadata.nested",
    ]);
  });

  it("omits null, which means the same as absent", () => {
    const { document } = normaliseDocument({
      flags: { a: { ...flag, defaultVariant: null, targeting: null } },
    });
    expect(Object.keys(document.flags["a"] ?? {})).to.have.members(["state", "variants"]);
  });

  it("warns of a default that is not one of the variants, and serves the flag, which agents reject alone", () => {
    const { document, warnings } = normaliseDocument({ flags: { a: { ...flag, defaultVariant: "blue" } } });
    expect(document.flags["a"]).to.have.property("defaultVariant", "blue");
    expect(warnings[0]?.message).to.contain('"blue", which is not one of its variants');
  });

  it("keeps flags called __proto__ and constructor", () => {
    const flags = JSON.parse(
      `{"__proto__":${JSON.stringify(flag)},"constructor":${JSON.stringify(flag)}}`,
    ) as JsonValue;
    const { document } = normaliseDocument({ flags });
    expect(Object.keys(document.flags)).to.deep.equal(["__proto__", "constructor"]);
  });

  const refused: [string, JsonValue | undefined, string][] = [
    ["nothing", undefined, ""],
    ["a list", [], ""],
    ["no flags", {}, "flags"],
    ["flags that are a text", { flags: "a" }, "flags"],
    ["a flag that is a number", { flags: { a: 1 } }, "flags.a"],
    ["a listed flag without a key", { flags: [flag] }, "flags.0"],
    ["variants that are a list", { flags: { a: { ...flag, variants: [] } } }, "flags.a.variants"],
    ["a state that is a boolean", { flags: { a: { ...flag, state: true } } }, "flags.a.state"],
    [
      "a default that is a boolean",
      { flags: { a: { ...flag, defaultVariant: true } } },
      "flags.a.defaultVariant",
    ],
    ["targeting that is a text", { flags: { a: { ...flag, targeting: "on" } } }, "flags.a.targeting"],
    ["metadata that is a list", { flags: {}, metadata: [] }, "metadata"],
    ["evaluators that are a list", { flags: {}, $evaluators: [] }, "$evaluators"],
  ];
  for (const [what, value, path] of refused) {
    it(`refuses ${what} and says where`, () => {
      const error = refusal(value);
      expect(error.code).to.equal("DOCUMENT_INVALID");
      expect(error.path.join(".")).to.equal(path);
    });
  }
});

describe("encodeDocument", () => {
  it("writes flags, metadata, $evaluators in this order and their keys sorted: equal documents give equal text", () => {
    const one = normaliseDocument({
      $evaluators: { z: {}, a: {} },
      metadata: { b: 1, a: 2 },
      flags: { b: flag, a: flag },
    });
    const two = normaliseDocument({
      metadata: { a: 2, b: 1 },
      flags: { a: flag, b: flag },
      $evaluators: { a: {}, z: {} },
    });
    const text = encodeDocument(one.document);
    expect(encodeDocument(two.document)).to.equal(text);
    expect(text).to.match(
      /^\{"flags":\{"a":.*\},"metadata":\{"a":2,"b":1\},"\$evaluators":\{"a":\{\},"z":\{\}\}\}$/,
    );
  });

  it("writes a FeatureFlag without flagSpec as a document without flags", () => {
    expect(encodeDocument(emptyFlagDocument)).to.equal('{"flags":{}}');
  });
});
