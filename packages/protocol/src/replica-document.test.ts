import { readFileSync } from "node:fs";
import { expect } from "chai";
import fc from "fast-check";
import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { encodeDocument, normaliseDocument, type FlagDocument } from "./flag-document.js";
import type { JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";
import { ReplicaDocument, type DocumentDelta } from "./replica-document.js";

/** Computed in Python; see DocumentDigest. */
const vectors = JSON.parse(
  readFileSync(new URL("../../../test/fixtures/document-digests.json", import.meta.url), "utf8"),
) as readonly { readonly what: string; readonly document: FlagDocument; readonly digest: string }[];

type Changes = DocumentDelta;

const read = (document: FlagDocument): ReplicaDocument =>
  ReplicaDocument.parse(Buffer.from(encodeDocument(document)));
const textOf = (value: JsonValue | undefined): string => (value === undefined ? "" : canonicalJson(value));

function changesOf(from: FlagDocument, to: FlagDocument): Changes {
  const keys = [...new Set([...Object.keys(from.flags), ...Object.keys(to.flags)])].sort(compareUtf8);
  const own = ({ flags }: FlagDocument, key: string): string =>
    textOf(Object.hasOwn(flags, key) ? flags[key] : undefined);
  const part = (name: "metadata" | "$evaluators"): Buffer | undefined =>
    textOf(from[name]) === textOf(to[name]) ? undefined : Buffer.from(textOf(to[name]));
  return {
    flags: keys
      .filter((key) => own(from, key) !== own(to, key))
      .map((key) => ({ key, flag: Buffer.from(own(to, key)) })),
    metadata: part("metadata"),
    evaluators: part("$evaluators"),
  };
}

const flagKey = fc.oneof(
  fc.constantFrom("a", "b", "10", "9", "__proto__", "constructor", "ä", "\u{1f600}"),
  fc.string({ minLength: 1 }),
);
const flag = fc.record({
  state: fc.constantFrom("ENABLED", "DISABLED"),
  variants: fc.dictionary(fc.constantFrom("on", "off"), fc.integer()),
});
const documents: fc.Arbitrary<FlagDocument> = fc
  .record({
    flags: fc.array(fc.tuple(flagKey, flag), { maxLength: 8 }),
    metadata: fc.option(fc.dictionary(fc.constantFrom("x", "y"), fc.integer()), { nil: undefined }),
    evaluators: fc.option(fc.constantFrom({ e: { "==": [1, 1] } }, { f: true }), { nil: undefined }),
  })
  .map(
    ({ flags, metadata, evaluators }) =>
      normaliseDocument({
        flags: Object.fromEntries(flags),
        ...(metadata === undefined ? {} : { metadata }),
        ...(evaluators === undefined ? {} : { $evaluators: evaluators }),
      }).document,
  );

describe("ReplicaDocument", () => {
  for (const { what, document, digest } of vectors)
    it(`has the digest that everybody computes: ${what}`, () => {
      expect(
        ReplicaDocument.parse(Buffer.from(JSON.stringify(document)))
          .digest()
          .toString("hex"),
      ).to.equal(digest);
    });

  it("is after any deltas what it would be if it had been read whole", () => {
    fc.assert(
      fc.property(fc.array(documents, { minLength: 2, maxLength: 6 }), (versions) => {
        const [first = { flags: {} }, ...later] = versions;
        let held = read(first);
        let before = first;
        for (const document of later) {
          held = held.with(changesOf(before, document));
          before = document;
          expect(encodeDocument(held.normalised())).to.equal(encodeDocument(document));
          expect(held.digest()).to.deep.equal(read(document).digest());
          expect(held.bytes).to.be.at.least(Buffer.byteLength(encodeDocument(document)));
        }
      }),
    );
  });

  it("is never larger than it says, however it came to be", () => {
    const added: FlagDocument = {
      flags: Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`"ä${index}`, { state: "ENABLED" }]),
      ),
      metadata: { team: "shop" },
      $evaluators: { e: true },
    };
    const held = read({ flags: {} }).with(changesOf({ flags: {} }, added));
    expect(held.bytes).to.be.at.least(Buffer.byteLength(encodeDocument(added)));
  });

  it("stays as it is when a delta makes another one of it", () => {
    const document: FlagDocument = { flags: { a: { state: "ENABLED" }, b: { state: "ENABLED" } } };
    const held = read(document);
    const digest = held.digest();
    const next = held.with({
      flags: [
        { key: "a", flag: Buffer.from('{"state":"DISABLED"}') },
        { key: "b", flag: Buffer.alloc(0) },
      ],
      metadata: undefined,
      evaluators: undefined,
    });
    expect(next.normalised()).to.deep.equal({ flags: { a: { state: "DISABLED" } } });
    expect(encodeDocument(held.normalised())).to.equal(encodeDocument(document));
    expect(held.digest()).to.deep.equal(digest);
  });

  it("refuses what is no flag document", () => {
    for (const text of ["", "{", "[]", "null", "{}", '{"flags":[]}', '{"flags":1}'])
      expect(() => ReplicaDocument.parse(Buffer.from(text)), text).to.throw(Error);
    const delta = { flags: [], metadata: Buffer.from("{"), evaluators: undefined };
    expect(() => read({ flags: {} }).with(delta)).to.throw(SyntaxError);
  });

  it("refuses a document that is nested too deeply to be served", () => {
    const deep = `{"flags":{"f":{"state":"ENABLED","targeting":${"[".repeat(3_000)}${"]".repeat(3_000)}}}}`;
    expect(() => ReplicaDocument.parse(Buffer.from(deep)).normalised()).to.throw(ProtocolError);
  });
});
