import type { FlagDocument } from "@bunting/protocol";

/** A version that is pushed progressively: some agents have it, while all others are served the version before. */
export interface Trial {
  readonly document: FlagDocument;
  readonly digest: string;
  /** Of the object that has it. */
  readonly generation?: number;
  /** Agents with a lower bucket get it: of 10,000 (`buckets`). 0: nobody yet, or nobody any more. */
  readonly reach: number;
}
