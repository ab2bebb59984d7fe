import { expect } from "chai";
import { checkLines } from "./check-lines.js";
import { checkReport, exitCodeOf, reportedCheck, type CheckReport } from "./check-report.js";
import type { CheckFinding, FindingCode } from "./finding-codes.js";
import { coloursFor } from "../terminal/colours.js";

function report(...codes: readonly (readonly FindingCode[])[]): CheckReport {
  const finding = (code: FindingCode): CheckFinding => ({
    code,
    where: "It",
    what: "is wrong",
    todo: "mend it",
  });
  const checks = codes.map((found) =>
    reportedCheck({ group: "proxy", title: "all is well" }, found.map(finding)),
  );
  return checkReport("installed", checks);
}

describe("a report of bunting check", () => {
  it("has the worst result of its checks, which decides about the exit code", () => {
    const cases = [
      [report([], []), "ok", 0],
      [report([], ["version-skew"]), "warning", 0],
      [report(["version-skew", "not-checked"]), "unknown", 2],
      [report(["not-checked"], ["flag-missing"]), "failed", 1],
      [report(["flag-missing", "not-checked"]), "failed", 1],
    ] as const;
    for (const [given, result, code] of cases) {
      expect(given.result).to.equal(result);
      expect(exitCodeOf(given)).to.equal(code);
    }
  });

  it("is shown in groups, with what to do for each finding, and not more of them than can be read", () => {
    const lines = checkLines(report([], ["flag-missing", "not-checked"]), coloursFor(false, {}));
    expect(lines).to.deep.equal([
      "proxy",
      "  ok       all is well",
      "  failed   all is well",
      "           It: is wrong [flag-missing]",
      "             To do: mend it. See docs/reference/checks.md#flag-missing",
      "           unknown: It: is wrong [not-checked]",
      "             To do: mend it. See docs/reference/checks.md#not-checked",
      "",
      "2 checks: 1 failed",
    ]);
    const last = (operatedBy: "stock" | "nobody"): string | undefined =>
      checkLines({ ...report([]), operatedBy }, coloursFor(false, {})).at(-1);
    expect(last("stock")).to.equal("1 check of an installation with the open-feature-operator: all is well");
    expect(last("nobody")).to.equal("1 check of an installation without an operator: all is well");
    const many = checkLines(report(Array<FindingCode>(25).fill("flag-missing")), coloursFor(false, {}));
    expect(many.filter((line) => line.includes("[flag-missing]"))).to.have.length(20);
    expect(many).to.include("           and 5 more findings; --json has all");
  });
});
