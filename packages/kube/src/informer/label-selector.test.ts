import { expect } from "chai";
import { formatLabelSelector, type LabelSelector } from "./label-selector.js";

describe("label selectors", () => {
  const cases: readonly (readonly [string, LabelSelector, string])[] = [
    ["nothing", {}, ""],
    ["equal labels", { matchLabels: { app: "shop", tier: "db" } }, "app=shop,tier=db"],
    ["an empty label", { matchLabels: { zone: "" } }, "zone="],
    [
      "In",
      { matchExpressions: [{ key: "tier", operator: "In", values: ["db", "web"] }] },
      "tier in (db,web)",
    ],
    [
      "NotIn",
      { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["web"] }] },
      "tier notin (web)",
    ],
    ["Exists", { matchExpressions: [{ key: "app", operator: "Exists" }] }, "app"],
    ["DoesNotExist", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, "!app"],
    [
      "all together",
      { matchLabels: { app: "shop" }, matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] },
      "app=shop,!zone",
    ],
  ];

  for (const [what, selector, text] of cases) {
    it(`by ${what} are written as ${text === "" ? "nothing" : text}`, () => {
      expect(formatLabelSelector(selector)).to.equal(text);
    });
  }
});
