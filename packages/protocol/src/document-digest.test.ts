import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { DocumentDigest, digestBytes } from "./document-digest.js";
import type { FlagDocument } from "./flag-document.js";

interface Vector {
  readonly what: string;
  readonly document: FlagDocument;
  readonly digest: string;
}

/** Computed apart, in Python; the proxy and the agent are each held to them too. */
const vectors = JSON.parse(
  readFileSync(new URL("../../../test/fixtures/document-digests.json", import.meta.url), "utf8"),
) as readonly Vector[];

function flagTexts({ flags }: FlagDocument): [string, string][] {
  return Object.keys(flags)
    .sort(compareUtf8)
    .map((key) => [key, canonicalJson(flags[key] ?? null)]);
}

describe("DocumentDigest", () => {
  for (const { what, document, digest } of vectors) {
    it(`is what both ends agreed on: ${what}`, () => {
      const { metadata, $evaluators } = document;
      const parts = [metadata, $evaluators].map((part) => part && canonicalJson(part)) as [string?, string?];
      const ofHex = new DocumentDigest();
      for (const [key, text] of flagTexts(document)) ofHex.add(key, hash("sha256", text));
      expect(ofHex.finish(...parts).toString("hex")).to.equal(digest);
    });
  }

  it("takes hashes as rows of one buffer, and the other parts as bytes, just as well", () => {
    for (const { document, digest } of vectors) {
      const texts = flagTexts(document);
      const rows = Buffer.concat(texts.map(([, text]) => hash("sha256", text, "buffer")));
      const ofRows = new DocumentDigest();
      for (const [row, [key]] of texts.entries()) ofRows.add(key, rows, row * digestBytes);
      const part = (value: FlagDocument["metadata"]): Buffer =>
        Buffer.from(value ? canonicalJson(value) : "");
      expect(ofRows.finish(part(document.metadata), part(document.$evaluators)).toString("hex")).to.equal(
        digest,
      );
    }
  });
});
