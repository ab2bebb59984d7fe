import type { ParserSample } from "./parser-sample.js";

/** Something of node that its documentation does not promise, and what depends on it. */
export interface NodePart {
  readonly name: string;
  /** What is off where the part is missing, as a warning says it. */
  readonly limit: string;
  /** Whether it is there, as far as can be told at once, on a connection within the process. Absent: that can't be told. */
  readonly isThere?: (sample: ParserSample) => boolean;
  /** Proves that the part does what is expected of it. */
  readonly works: () => boolean | Promise<boolean>;
}
