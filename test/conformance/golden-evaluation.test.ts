import { isDeepStrictEqual } from "node:util";
import { createEvaluator, parseDocument, type Resolution } from "@bunting/evaluation";
import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { goldenAnswers, type GoldenAnswer } from "../support/golden-answers.js";

function answer({ doc, key, ctx }: GoldenAnswer): Resolution {
  return createEvaluator(doc).evaluator.resolve(key, ctx);
}

function agrees(golden: GoldenAnswer, ours: Resolution): boolean {
  const { value, variant, reason, errorCode, metadata } = golden.expect;
  if (ours.errorCode !== errorCode || ours.reason !== reason) return false;
  if (errorCode !== undefined) return true;
  const isSameMetadata = isDeepStrictEqual({ ...ours.metadata }, metadata ?? {});
  return isDeepStrictEqual(ours.value ?? null, value) && (ours.variant ?? "") === variant && isSameMetadata;
}

/** Whether flagd failed because one evaluator refers to another, which it replaces by chance, as the order in its map is. */
function isOfNestedEvaluators({ doc, expect: { errorCode } }: GoldenAnswer): boolean {
  return errorCode === "PARSE_ERROR" && JSON.stringify(doc.$evaluators ?? {}).includes('{"$ref":');
}

/** What the real Go evaluator of flagd answered to 7,973 random documents and contexts. */
describe("the golden answers of flagd", () => {
  for (const [tier, what, count] of [
    ["A", "rules as people write them", 4_387],
    ["B", "rules that mind no types", 2_390],
    ["C", "states, defaults, metadata and references at their edges", 1_196 - 123],
  ] as const) {
    it(`are also ours, every one, for ${what}`, () => {
      const asked = goldenAnswers.filter((one) => one.tier === tier && one.documentRefused === undefined);
      expect(asked).to.have.length(count);
      const different = asked.filter((one) => !agrees(one, answer(one)) && !isOfNestedEvaluators(one));
      expect(different.slice(0, 3).map((one) => ({ ...one, ours: answer(one) }))).to.deep.equal([]);
    });
  }

  it("differ where an evaluator refers to an evaluator: we always replace it", () => {
    const nested = goldenAnswers.filter(
      (one) => one.documentRefused === undefined && isOfNestedEvaluators(one),
    );
    const ours = nested.map((one) => answer(one)).filter(({ errorCode }) => errorCode === undefined);
    expect(ours.length).to.equal(26);
  });

  it("differ where flagd refuses a document for one bad flag: we refuse that flag, and serve the others", () => {
    const refused = goldenAnswers.filter(({ documentRefused }) => documentRefused !== undefined);
    expect(refused).to.have.length(123);
    for (const golden of refused) {
      const good: JsonValue = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
      const doc = { ...golden.doc, flags: { ...golden.doc.flags, good } };
      const served = parseDocument(doc).flags.map(({ key }) => key);
      expect(served).to.include("good");
      expect(served.length, "one flag is refused").to.be.lessThan(Object.keys(doc.flags).length);
    }
  });
});
