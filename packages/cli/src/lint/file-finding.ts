import type { Finding, Severity } from "@bunting/featureflags/checks";

export interface FileFinding extends Omit<Finding, "path" | "severity"> {
  /** A remark is about what may be right, and never makes the exit code 1. */
  readonly severity: Severity | "remark";
  readonly file: string;
  /** From 1, as is the column. */
  readonly line: number;
  readonly column: number;
}
