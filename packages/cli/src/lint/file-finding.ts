import type { Finding } from "@bunting/featureflags/checks";

/** A finding in a file. */
export interface FileFinding extends Omit<Finding, "path"> {
  readonly file: string;
  /** From 1, as is the column. */
  readonly line: number;
  readonly column: number;
}
