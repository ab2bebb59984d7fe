/** What a task of `bunting operator` found. */
export interface OperatorResult {
  /** 1 if there is something to tell. */
  readonly code: 0 | 1;
  /** For people. */
  readonly lines: readonly string[];
  /** For programs: what is printed as JSON or YAML. */
  readonly value: object;
}
