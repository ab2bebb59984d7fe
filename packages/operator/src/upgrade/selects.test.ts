import { expect } from "chai";
import { matchesPattern, selects } from "./selects.js";

describe("selects", () => {
  const labels = { app: "web", tier: "front" };

  it("obeys each condition, and selects all without any", () => {
    expect(selects({}, {})).to.equal(true);
    expect(selects({ matchLabels: { app: "web" } }, labels)).to.equal(true);
    expect(selects({ matchLabels: { app: "web", tier: "back" } }, labels)).to.equal(false);
    const by = (operator: "In" | "NotIn" | "Exists" | "DoesNotExist", key: string, values: string[] = []) =>
      selects({ matchExpressions: [{ key, operator, values }] }, labels);
    expect([by("In", "app", ["web"]), by("In", "app", ["x"]), by("In", "none", ["web"])]).to.deep.equal([
      ...[true, false, false],
    ]);
    expect([
      by("NotIn", "app", ["web"]),
      by("NotIn", "app", ["x"]),
      by("NotIn", "none", ["x"]),
    ]).to.deep.equal([...[false, true, true]]);
    expect([by("Exists", "app"), by("Exists", "toString"), by("DoesNotExist", "none")]).to.deep.equal([
      ...[true, false, true],
    ]);
  });
});

describe("matchesPattern", () => {
  it("takes a star for any characters, also none", () => {
    for (const [pattern, text] of [
      ["a:1", "a:1"],
      ["*", ""],
      ["*", "ghcr.io/open-feature/flagd:v1"],
      ["ghcr.io/open-feature/flagd:*", "ghcr.io/open-feature/flagd:v1"],
      ["*/flagd:*", "ghcr.io/open-feature/flagd:v1"],
      ["a*b*c", "abc"],
      ["a*b*c", "axxbbxxc"],
    ] as const)
      expect(matchesPattern(pattern, text), `${pattern} ${text}`).to.equal(true);
    for (const [pattern, text] of [
      ["a:1", "a:12"],
      ["a*a", "a"],
      ["ghcr.io/*", "evil.example/ghcr.io/x"],
      ["*:1", "a:12"],
      ["a*b*c", "acb"],
      ["a.c", "abc"],
    ] as const)
      expect(matchesPattern(pattern, text), `${pattern} ${text}`).to.equal(false);
  });

  it("takes no longer for a pattern of stars", () => {
    expect(matchesPattern("*a".repeat(250) + "b", "a".repeat(500))).to.equal(false);
  });
});
