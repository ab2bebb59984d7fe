import { expect } from "chai";
import { formatLabelSelector, matchesLabels, type LabelSelector } from "./label-selector.js";

describe("label selectors", () => {
  const labels = { app: "shop", tier: "web" };
  const cases: readonly (readonly [string, LabelSelector, string, boolean])[] = [
    ["nothing", {}, "", true],
    ["an equal label", { matchLabels: { app: "shop" } }, "app=shop", true],
    ["another value", { matchLabels: { app: "shop", tier: "db" } }, "app=shop,tier=db", false],
    ["a label that is not there", { matchLabels: { zone: "" } }, "zone=", false],
    ["a name that objects inherit", { matchLabels: { constructor: "x" } }, "constructor=x", false],
    [
      "In",
      { matchExpressions: [{ key: "tier", operator: "In", values: ["db", "web"] }] },
      "tier in (db,web)",
      true,
    ],
    [
      "In of others",
      { matchExpressions: [{ key: "tier", operator: "In", values: ["db"] }] },
      "tier in (db)",
      false,
    ],
    [
      "In without the label",
      { matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] },
      "zone in (a)",
      false,
    ],
    [
      "NotIn",
      { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["web"] }] },
      "tier notin (web)",
      false,
    ],
    [
      "NotIn without the label",
      { matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a"] }] },
      "zone notin (a)",
      true,
    ],
    ["Exists", { matchExpressions: [{ key: "app", operator: "Exists" }] }, "app", true],
    [
      "Exists of an inherited name",
      { matchExpressions: [{ key: "toString", operator: "Exists" }] },
      "toString",
      false,
    ],
    ["DoesNotExist", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, "!app", false],
    [
      "all together",
      { matchLabels: { app: "shop" }, matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] },
      "app=shop,!zone",
      true,
    ],
  ];

  for (const [what, selector, text, isMatch] of cases) {
    it(`${isMatch ? "selects" : "does not select"} by ${what}, and is written as ${text === "" ? "nothing" : text}`, () => {
      expect(matchesLabels(selector, labels)).to.equal(isMatch);
      expect(formatLabelSelector(selector)).to.equal(text);
    });
  }

  it("selects nothing by an operator that it does not know", () => {
    const unknown = { matchExpressions: [{ key: "app", operator: "Gt" as "In", values: ["1"] }] };
    expect(matchesLabels(unknown, labels)).to.equal(false);
  });

  it("takes no labels for an empty set", () => {
    expect(matchesLabels({ matchLabels: { app: "shop" } }, undefined)).to.equal(false);
  });
});
