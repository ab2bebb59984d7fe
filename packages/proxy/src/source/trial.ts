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

/** Why trials were refused. Their reports were taken otherwise: the topic serves the document that all others are to have. */
const refusals = new WeakSet<object>();

/** Marks what a sink throws if it has taken a report but for its trial. */
export function markRefusedTrial(error: unknown): void {
  if (typeof error === "object" && error !== null) refusals.add(error);
}

/** True also for what a source makes of it, to report the topic as stale for that reason. */
export function isRefusedTrial(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  return refusals.has(error) || (error instanceof Error && isRefusedTrial(error.cause));
}
