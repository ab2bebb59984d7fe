import type { ParserSample } from "./parser-sample.js";

/** Something of node that its documentation does not promise, and what depends on it. */
export interface NodePart {
  readonly name: string;
  /** The limit that is off without the part, as the text of a warning. */
  readonly limit: string;
  /** Checks for the part at once, within the process. Absent: that is not possible. */
  readonly isThere?: (sample: ParserSample) => boolean;
  /** Proves that the part does what is expected of it. */
  readonly works: () => boolean | Promise<boolean>;
}
