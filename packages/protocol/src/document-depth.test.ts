import { expect } from "chai";
import { isNestedDeeper, maxDocumentDepth } from "./document-depth.js";
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

describe("isNestedDeeper", () => {
  it("counts objects and lists, and stops at the limit", () => {
    expect(isNestedDeeper("text", 0)).to.equal(false);
    expect(isNestedDeeper(null, 0)).to.equal(false);
    expect(isNestedDeeper({}, 0)).to.equal(true);
    expect(isNestedDeeper(nested(10), 10)).to.equal(false);
    expect(isNestedDeeper([1, nested(10)], 10)).to.equal(true);
    expect(isNestedDeeper(nested(1_000_000), maxDocumentDepth)).to.equal(true);
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
    const tooDeep = 'objects and lists of "a" are nested more than 200 levels deep';
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
