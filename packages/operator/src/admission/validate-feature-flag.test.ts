import type { JsonObject } from "@bunting/protocol";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { answerReview, type AdmissionAnswer } from "./admission-answer.js";
import { deepJson } from "./admission-review.fixture.js";
import { featureFlagWebhook } from "./validate-feature-flag.js";

const algorithm = {
  state: "ENABLED",
  variants: { recursive: "recursive", memo: "memo", loop: "loop", binet: "binet" },
  defaultVariant: "recursive",
};

function featureFlag(targeting?: JsonObject, annotations: JsonObject = {}): JsonObject {
  const flag = targeting === undefined ? algorithm : { ...algorithm, targeting };
  return {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name: "sample", namespace: "shop", annotations },
    spec: { flagSpec: { flags: { fibAlgo: flag } } },
  };
}

/** Of the open-feature-operator's own tests: one that it refuses, and one that it accepts. */
const bad = { fractional: ["invalid", ["clubs", 25], ["diamonds", 25], ["hearts", 25], ["spades", 25]] };
const withoutEvaluators = { if: [{ $ref: "emailWithFaas" }, "binet", null] };
const unknownOperator = { if: [{ starts_wiht: [] }, "binet", null] };

const featureFlagKind = { group: "core.openfeature.dev", version: "v1beta1", kind: "FeatureFlag" };

describe("featureFlagWebhook", () => {
  const levels = new Map<string, string>();
  const webhook = featureFlagWebhook({
    maxDocumentBytes: 100_000,
    levelOfNamespace: (namespace) => levels.get(namespace),
    clock: systemClock,
  });

  beforeEach(() => levels.clear());

  async function review(object: JsonObject, oldObject?: JsonObject): Promise<AdmissionAnswer> {
    return webhook.review(
      {
        uid: "1",
        kind: featureFlagKind,
        operation: oldObject === undefined ? "CREATE" : "UPDATE",
        namespace: "shop",
        subResource: "",
        dryRun: false,
        object,
        oldObject,
      },
      // As if it began later: this is about what is found, however busy the machine is.
      systemClock.monotonicMs() + 60_000,
    );
  }

  async function isAllowed(object: JsonObject, oldObject?: JsonObject): Promise<boolean> {
    return (await review(object, oldObject)).isAllowed;
  }

  it("admits what is in order without a word", async () => {
    expect(await review(featureFlag())).to.deep.equal({ isAllowed: true, warnings: [] });
  });

  it("refuses the bad sample of the open-feature-operator, naming the fields", async () => {
    const { isAllowed: isSo, refusal } = await review(featureFlag(bad));
    expect(isSo).to.equal(false);
    expect(refusal?.causes?.map(({ field }) => field)).to.deep.equal(
      [1, 2, 3, 4].map((share) => `spec.flagSpec.flags.fibAlgo.targeting.fractional[${share}][0]`),
    );
    expect(refusal?.message).to.match(/^spec\.flagSpec\.flags\.fibAlgo\.targeting\.fractional\[1\]\[0\]: /);
    expect(refusal?.message).to.contain('the rule gives "spades"');
  });

  it("admits its good sample, which refers to an evaluator that is not there, with a warning", async () => {
    const { isAllowed: isSo, warnings } = await review(featureFlag(withoutEvaluators));
    expect(isSo).to.equal(true);
    expect(warnings).to.deep.equal([
      'spec.flagSpec.flags.fibAlgo.targeting.if[0].$ref: there is no evaluator "emailWithFaas" in "$evaluators": evaluations that reach it fail',
    ]);
  });

  it("goes by the annotation of the object, then by that of the namespace", async () => {
    const of = (level: string): JsonObject => ({ "bunting.dev/validation": level });
    expect(await isAllowed(featureFlag(withoutEvaluators, of("strict")))).to.equal(false);
    expect(await isAllowed(featureFlag(bad, of("warn")))).to.equal(true);
    levels.set("shop", "strict");
    expect(await isAllowed(featureFlag(withoutEvaluators))).to.equal(false);
    expect(await isAllowed(featureFlag(withoutEvaluators, of("errors")))).to.equal(true);
    levels.set("shop", "warn");
    expect(await isAllowed(featureFlag(bad))).to.equal(true);
    expect(await isAllowed(featureFlag(bad, of("errors")))).to.equal(false);
  });

  it("warns of a level that does not exist, and goes by the next", async () => {
    levels.set("shop", "strict");
    const answer = await review(featureFlag(withoutEvaluators, { "bunting.dev/validation": "lax" }));
    expect(answer.isAllowed).to.equal(false);
    expect(answer.warnings?.[0]).to.contain('is "lax", and counts for nothing: write strict, errors or warn');
    levels.set("shop", "nonsense");
    expect(await isAllowed(featureFlag(withoutEvaluators))).to.equal(true);
  });

  it("refuses an update only for what it adds, so that a wrong object can be mended step by step", async () => {
    const old = featureFlag(bad);
    expect(await isAllowed(old, old)).to.equal(true);
    expect((await review(old, old)).warnings).to.have.length(5);
    const fewer = { fractional: bad.fractional.slice(0, 3) };
    expect(await isAllowed(featureFlag(fewer), old)).to.equal(true);
    const shifted = { if: [{ var: "x" }, bad] };
    expect(await isAllowed(featureFlag(shifted), old), "the same in another place").to.equal(true);
    const { refusal } = await review(
      featureFlag({ if: [unknownOperator, bad, "clubs"] }),
      featureFlag(fewer),
    );
    expect(refusal?.causes?.map(({ field }) => field.replace(/.*targeting/, ""))).to.deep.equal([
      ".if[0].if[0].starts_wiht",
      ".if[1].fractional[3][0]",
      ".if[1].fractional[4][0]",
    ]);
  });

  it("lets a document that is too large shrink, or stay as large, but refuses a new one", async () => {
    const sized = (bytes: number): JsonObject => featureFlag({ var: "x".repeat(bytes) });
    expect(await isAllowed(sized(200_000))).to.equal(false);
    expect(await isAllowed(sized(200_000), featureFlag())).to.equal(false);
    expect(await isAllowed(sized(150_000), sized(200_000))).to.equal(true);
  });

  it("admits what can't be checked in time, and says that it will be checked", async () => {
    const late = await webhook.review(
      {
        ...{
          uid: "1",
          kind: featureFlagKind,
          namespace: "shop",
          object: featureFlag(bad),
          oldObject: undefined,
        },
        ...{ operation: "CREATE", subResource: "", dryRun: false },
      },
      systemClock.monotonicMs() - 1_000,
    );
    expect(late.isAllowed).to.equal(true);
    expect(late.warnings?.[0]).to.contain("they are checked afterwards");
  });

  it("checks no rule of ten thousand values, and refuses nothing that replaces one", async () => {
    const huge = featureFlag({ if: Array.from({ length: 10_000 }, (_, i) => `x${i}`) });
    const answer = await review(huge);
    expect(answer.isAllowed).to.equal(true);
    expect(answer.warnings?.[0]).to.contain("more than 10000 values, and are not checked");
    expect(await isAllowed(featureFlag(bad), huge)).to.equal(true);
    expect(await isAllowed(featureFlag(bad), featureFlag())).to.equal(false);
  });

  it("looks neither at status, nor at deletions", async () => {
    const request = {
      ...{
        uid: "1",
        kind: featureFlagKind,
        namespace: "shop",
        object: featureFlag(bad),
        oldObject: undefined,
      },
      ...{ operation: "UPDATE", subResource: "", dryRun: false },
    };
    expect((await webhook.review({ ...request, subResource: "status" }, 0)).isAllowed).to.equal(true);
    expect((await webhook.review({ ...request, operation: "DELETE" }, 0)).isAllowed).to.equal(true);
    expect((await webhook.review({ ...request, object: undefined }, 0)).isAllowed).to.equal(true);
    expect((await webhook.review(request, systemClock.monotonicMs())).isAllowed).to.equal(false);
  });

  it("answers hostile objects: of any depth, with thousands of findings, or with keys that mislead", async () => {
    const deep = JSON.parse(`{"if":${deepJson(5_000)}}`) as JsonObject;
    const answer = await review(featureFlag(deep));
    expect(answer.isAllowed).to.equal(false);
    const flags = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`f${i}`, { ...algorithm, targeting: bad }]),
    );
    const many = await review({ ...featureFlag(), spec: { flagSpec: { flags } } });
    expect(JSON.stringify(answerReview("1", many)).length).to.be.lessThan(20_000);
    expect(many.refusal?.message).to.match(/; and \d{3} more: bunting lint shows them all$/);
    const odd = await review({
      ...featureFlag(),
      spec: { flagSpec: { flags: { "a.b[\n": { ...algorithm, targeting: bad } } } },
    });
    expect(odd.refusal?.causes?.[0]?.field).to.equal(
      'spec.flagSpec.flags["a.b[\\n"].targeting.fractional[1][0]',
    );
    for (const spec of [null, 1, [], { flagSpec: 1 }, { flagSpec: { flags: [] } }])
      await review({ ...featureFlag(), spec });
    for (const metadata of [null, 1, [], {}, { name: 5 }, { name: "a", annotations: 1 }])
      await review({ ...featureFlag(), metadata });
  });
});
