import type { Check, CheckPhase } from "./check.js";
import {
  documentationOf,
  findingCodes,
  type CheckFinding,
  type CheckGroup,
  type CheckSeverity,
} from "./finding-codes.js";
import type { OperatedBy } from "./operated-by.js";

/** Result of a check: the worst of its findings. */
export type CheckResult = "ok" | CheckSeverity;

/** The form of `--json`. Fields are added, and none is changed or removed, while `format` is the same. */
export interface CheckReport {
  readonly format: 1;
  readonly phase: CheckPhase;
  /** Of an installation, if the API server answers. */
  readonly operatedBy?: OperatedBy;
  readonly result: CheckResult;
  readonly checks: readonly ReportedCheck[];
}

export interface ReportedCheck {
  readonly group: CheckGroup;
  readonly title: string;
  readonly result: CheckResult;
  readonly findings: readonly ReportedFinding[];
}

export interface ReportedFinding extends CheckFinding {
  readonly severity: CheckSeverity;
  readonly docs: string;
}

const worst = ["failed", "unknown", "warning"] as const satisfies readonly CheckSeverity[];

export function reportedCheck(
  { group, title }: Pick<Check, "group" | "title">,
  found: readonly CheckFinding[],
): ReportedCheck {
  const findings = found.map((finding) => ({
    ...finding,
    severity: findingCodes[finding.code].severity,
    docs: documentationOf(finding.code),
  }));
  return { group, title, result: resultOf(findings.map(({ severity }) => severity)), findings };
}

export function checkReport(
  phase: CheckPhase,
  checks: readonly ReportedCheck[],
  operatedBy?: OperatedBy,
): CheckReport {
  const result = resultOf(checks.map((one) => one.result));
  return { format: 1, phase, ...(operatedBy === undefined ? {} : { operatedBy }), result, checks };
}

/** 0: all is well, or has warnings only; 1: a check failed; 2: a check could not be made, and none failed. */
export function exitCodeOf({ result }: CheckReport): number {
  return result === "failed" ? 1 : result === "unknown" ? 2 : 0;
}

function resultOf(results: readonly CheckResult[]): CheckResult {
  return worst.find((one) => results.includes(one)) ?? "ok";
}
