import { readFileSync } from "node:fs";
import { atOnce, type JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { judgingFeatureFlag, type FeatureFlagVerdict } from "./feature-flag-verdict.js";

const flag = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

function judge(flagSpec: JsonObject, level = "", levelOfNamespace?: string): FeatureFlagVerdict {
  const annotations = level === "" ? {} : { "bunting.dev/validation": level };
  const object = {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name: "flags", namespace: "shop", annotations },
    spec: { flagSpec },
  };
  return atOnce(judgingFeatureFlag(object, levelOfNamespace, { maxDocumentBytes: 100_000 }));
}

const targeting = (rule: JsonObject): JsonObject => ({ flags: { a: { ...flag, targeting: rule } } });
const unknownEvaluator = targeting({ if: [{ $ref: "gone" }, "on", "off"] });
const unknownVariant = targeting({ if: [{ var: "x" }, "an", "af"] });

describe("judgingFeatureFlag", () => {
  it("accepts flags that are served as they are written", () => {
    const { digest, ...verdict } = judge({ flags: { a: flag, b: flag } });
    expect(verdict).to.deep.equal({
      accepted: "True",
      reason: "Valid",
      message: "The flags are served as they are written.",
      flags: 2,
    });
    expect(digest).to.match(/^[0-9a-f]{64}$/);
  });

  it("has the digests that proxies and agents compute", () => {
    const fixture = new URL("../../../../test/fixtures/document-digests.json", import.meta.url);
    const cases = JSON.parse(readFileSync(fixture, "utf8")) as readonly {
      readonly document: JsonObject;
      readonly digest: string;
    }[];
    // A flag without a name is refused where it enters, and one without a default variant gets an empty one, so that no document of a FeatureFlag has one.
    const served = cases.filter(({ document }) =>
      Object.entries(document["flags"] as JsonObject).every(
        ([key, each]) => key !== "" && "defaultVariant" in (each as JsonObject),
      ),
    );
    expect(served.length).to.be.greaterThan(8);
    for (const { document, digest } of served) expect(judge(document).digest).to.equal(digest);
  });

  it("names what is wrong: the first three, and how many more there are", () => {
    const verdict = judge(unknownVariant);
    expect(verdict).to.include({ accepted: "False", reason: "UnknownVariant", flags: 1 });
    expect(verdict.message).to.match(
      /^spec\.flagSpec\.flags\.a\.targeting\.if\[1\]: .*; spec\.flagSpec.*if\[2\]: /,
    );
    const flags = Object.fromEntries(
      Array.from({ length: 9 }, (_, i) => [`f${i}`, { ...flag, defaultVariant: "x" }]),
    );
    expect(judge({ flags }).message).to.match(/; and 6 more: bunting lint shows them all$/);
  });

  it("judges by the level of the object or of its namespace, and by errors where these let everything pass", () => {
    expect(judge(unknownEvaluator).accepted).to.equal("True");
    expect(judge(unknownEvaluator).message).to.contain('there is no evaluator "gone"');
    expect(judge(unknownEvaluator, "strict").reason).to.equal("UnknownEvaluator");
    expect(judge(unknownEvaluator, "", "strict").accepted).to.equal("False");
    expect(judge(unknownVariant, "warn").accepted).to.equal("False");
    expect(judge(unknownEvaluator, "warn", "strict").accepted).to.equal("True");
  });

  it("counts what is served where the rest is refused, and nothing where all of it is", () => {
    expect(judge({ flags: { a: flag, b: { ...flag, state: 1 } } })).to.include({
      reason: "Document",
      flags: 1,
    });
    const nothing = judge({ flags: 1 });
    expect(nothing).to.include({ accepted: "False", flags: 0, digest: undefined });
  });

  it("does not know of a rule that is too large to check, but what it is called", () => {
    const verdict = judge(targeting({ if: Array.from({ length: 10_000 }, (_, i) => `x${i}`) }));
    expect(verdict).to.include({ accepted: "Unknown", reason: "TooComplex", flags: 1 });
    expect(verdict.digest).to.match(/^[0-9a-f]{64}$/);
  });

  it("keeps a sentence about hostile flags short", () => {
    const flags = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [
        `${i}${"x".repeat(400)}`,
        { ...flag, defaultVariant: "y".repeat(400) },
      ]),
    );
    expect(judge({ flags }).message.length).to.be.at.most(1_024);
  });
});
