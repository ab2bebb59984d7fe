import { isObjectName } from "@bunting/protocol";
import { expect } from "chai";
import fc from "fast-check";
import {
  inlineFlagName,
  inlineFlagsOf,
  inlineKinds,
  isInlineKind,
  maxInlineNameLength,
  workloadOfInlineFlag,
  type InlineKind,
} from "./inline-flags.js";

const kinds = fc.constantFrom(...(Object.keys(inlineKinds) as InlineKind[]));
const words = fc.constantFrom("a", "0", "-", ".", "job", "cron", "inline", "inline-job-", "deployment");
/** Names that an API server gives workloads, of which many look like those of FeatureFlags. */
const names = fc
  .array(words, { minLength: 1, maxLength: 60 })
  .map((parts) => parts.join(""))
  .filter((name) => isObjectName(name) && name.length <= maxInlineNameLength);

describe("inlineFlagName", () => {
  it("is the name of an object, and of no other workload", () => {
    fc.assert(
      fc.property(kinds, names, (kind, name) => {
        const flag = inlineFlagName(kind, name);
        expect(isObjectName(flag), flag).to.equal(true);
        expect(workloadOfInlineFlag(flag)).to.deep.equal({ kind, name });
      }),
    );
  });

  it("leaves room for the longest of the kinds", () => {
    const longest = "x".repeat(maxInlineNameLength);
    const lengths = Object.keys(inlineKinds)
      .filter(isInlineKind)
      .map((kind) => inlineFlagName(kind, longest).length);
    expect(Math.max(...lengths)).to.equal(253);
  });

  it("is told from other names", () => {
    for (const name of ["checkout", "inline-job-", "inline-pod-a", "inline-Job-a", "inline-job"])
      expect(workloadOfInlineFlag(name), name).to.equal(undefined);
  });
});

describe("inlineFlagsOf", () => {
  it("finds the flags by either name, and the newer one first", () => {
    const [newer, older] = ["openfeature.dev/inline-flags", "openfeature.io/inline-flags"];
    expect(inlineFlagsOf({ [older]: "a" })).to.deep.equal({ annotation: older, text: "a" });
    expect(inlineFlagsOf({ [older]: "a", [newer]: "" })).to.deep.equal({ annotation: newer, text: "" });
    expect(inlineFlagsOf({ "openfeature.dev/enabled": "true" })).to.equal(undefined);
    expect(inlineFlagsOf()).to.equal(undefined);
  });
});
