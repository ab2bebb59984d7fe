import { expect } from "chai";
import { maxDocumentDepth, unservable } from "./document-depth.js";
import { normaliseDocument } from "./flag-document.js";
import type { JsonValue } from "./json.js";
import { ProtocolError } from "./protocol-error.js";

/** A value with this many levels of objects and lists. */
function nested(levels: number): JsonValue {
  return JSON.parse('{"!":['.repeat(levels / 2) + "true" + "]}".repeat(levels / 2)) as JsonValue;
}

function refusalOf(document: JsonValue): string {
  try {
    normaliseDocument(document);
    return "";
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return `${error.code} ${error.path.join(".")}: ${error.message}`;
  }
}

describe("unservable", () => {
  it("counts objects and lists, and stops at the limit", () => {
    const tooDeep = (levels: number): string => `is nested more than ${levels} levels deep`;
    expect(unservable("text", 0)).to.equal(undefined);
    expect(unservable(null, 0)).to.equal(undefined);
    expect(unservable({}, 0)).to.equal(tooDeep(0));
    expect(unservable(nested(10), 10)).to.equal(undefined);
    expect(unservable([1, nested(10)], 10)).to.equal(tooDeep(10));
    expect(unservable(nested(1_000_000))).to.equal(tooDeep(200));
  });

  it("finds a number that JSON.parse takes for an infinite one", () => {
    const value = JSON.parse('{"a":[1e308,{"b":-1e400}]}') as JsonValue;
    expect(unservable(value)).to.equal("has a number beyond 1.8e308");
  });
});

describe("normaliseDocument, of what is nested deep", () => {
  // The flag itself is a level, too.
  const flag = (levels: number): JsonValue => ({ state: "ENABLED", targeting: nested(levels) });

  it("takes a flag and an evaluator of 200 levels", () => {
    expect(refusalOf({ flags: { a: flag(maxDocumentDepth - 2) } })).to.equal("");
    expect(refusalOf({ flags: {}, $evaluators: { x: nested(maxDocumentDepth) } })).to.equal("");
  });

  it("refuses a deeper one, and names it", () => {
    const tooDeep = '"a" is nested more than 200 levels deep';
    for (const levels of [maxDocumentDepth, 1_500, 1_000_000]) {
      expect(refusalOf({ flags: { a: flag(levels) } })).to.equal(`DOCUMENT_INVALID flags.a: ${tooDeep}`);
      expect(refusalOf({ flags: {}, $evaluators: { a: nested(levels + 2) } })).to.equal(
        `DOCUMENT_INVALID $evaluators.a: ${tooDeep}`,
      );
    }
  });

  it("leaves metadata that is nested deep out, as any that is no scalar", () => {
    const { document, warnings } = normaliseDocument({ flags: {}, metadata: { deep: nested(1_000_000) } });
    expect(document).to.deep.equal({ flags: {}, metadata: {} });
    expect(warnings.map(({ path }) => path.join("."))).to.deep.equal(["metadata.deep"]);
  });
});

describe("normaliseDocument, of numbers beyond 1.8e308 and of null", () => {
  const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue;

  it("refuses such a number in a flag or an evaluator, and leaves it out of metadata", () => {
    const tooLarge = '"a" has a number beyond 1.8e308';
    expect(refusalOf(parsed('{"flags":{"a":{"variants":{"x":1e400}}}}'))).to.equal(
      `DOCUMENT_INVALID flags.a: ${tooLarge}`,
    );
    expect(refusalOf(parsed('{"flags":{},"$evaluators":{"a":[-1e400]}}'))).to.equal(
      `DOCUMENT_INVALID $evaluators.a: ${tooLarge}`,
    );
    const { document, warnings } = normaliseDocument(parsed('{"flags":{},"metadata":{"m":1e400}}'));
    expect(document).to.deep.equal({ flags: {}, metadata: {} });
    expect(warnings[0]?.message).to.contain('metadata "m" is a number beyond 1.8e308');
  });

  it("takes null for no flags, as flagd does, but not their absence", () => {
    expect(normaliseDocument({ flags: null }).document).to.deep.equal({ flags: {} });
    expect(refusalOf({})).to.contain('"flags" must be an object, but it is absent');
  });
});
