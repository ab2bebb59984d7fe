import { isDeepStrictEqual } from "node:util";
import {
  createEvaluator,
  evaluatorsOf,
  explain,
  metadataOf,
  parseDocument,
  parseFlag,
} from "@bunting/evaluation";
import { lintText } from "@bunting/cli/internal/lint/lint-text.js";
import { normaliseDocument, ProtocolError, type FlagDocument } from "@bunting/protocol";
import { expect } from "chai";
import { goldenAnswers, type GoldenAnswer } from "../support/golden-answers.js";

/** What the proxy sends to agents; undefined if it refuses the document. */
function served(document: GoldenAnswer["doc"]): FlagDocument | undefined {
  try {
    return normaliseDocument(document).document;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

describe("the commands of bunting, on the documents of which flagd's answers are known", () => {
  it("lint accepts a document exactly if the proxy serves it and agents refuse no flag of it", async () => {
    const maxDocumentBytes = 1_000_000;
    const counts = { accepted: 0, refused: 0 };
    for (const { doc } of goldenAnswers) {
      const bytes = Buffer.from(JSON.stringify(doc));
      const { findings } = await lintText("flags.json", bytes, { name: "flags.json", maxDocumentBytes });
      const document = served(doc);
      const { rejectedFlags } =
        document === undefined ? { rejectedFlags: [] } : parseDocument({ ...document });
      const isServed = document !== undefined && rejectedFlags.length === 0;
      // Rules that fail when they are evaluated are served all the same.
      const refusals = findings.filter(({ kind }) =>
        ["syntax", "document", "manifest", "unreadable", "flag"].includes(kind),
      );
      expect(refusals.length === 0, JSON.stringify({ doc, findings, rejectedFlags })).to.equal(isServed);
      counts[isServed ? "accepted" : "refused"]++;
    }
    expect(counts.accepted).to.be.greaterThan(7_000);
    expect(counts.refused).to.be.greaterThan(100);
  });

  it("eval gives the agent's answer to every one", () => {
    for (const { doc, key, ctx, documentRefused } of goldenAnswers) {
      if (documentRefused !== undefined || !Object.hasOwn(doc.flags, key)) continue;
      const evaluators = evaluatorsOf(doc.$evaluators ?? {});
      const set = { metadata: metadataOf(doc.metadata ?? {}), evaluators, source: "", sourceIndex: 0 };
      const { resolution } = explain(parseFlag(key, doc.flags[key] ?? null, set), ctx, { evaluators });
      const expected = createEvaluator(doc).evaluator.resolve(key, ctx);
      if (!isDeepStrictEqual(resolution, expected))
        expect(resolution, JSON.stringify({ doc, key, ctx })).to.deep.equal(expected);
    }
  });
});
