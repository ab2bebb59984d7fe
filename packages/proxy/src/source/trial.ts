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

/** How a version that is pushed progressively fares with the agents of this proxy. */
export interface TrialCounts {
  readonly digest: string;
  /** Agents with a lower bucket are to have it. -1 while a proxy that this one feeds has not said that it goes by the same. */
  readonly reach: number;
  /** Agents that have a bucket: all that can try it. */
  readonly agents: number;
  /** The lowest of their buckets; absent without any. */
  readonly lowest?: number;
  /** Agents that are to have it now. */
  readonly wave: number;
  /** Of these, those that say that they have it. */
  readonly current: number;
  /** Refusals of flags that are not refused in the version before, or of all of it. */
  readonly refusals: number;
  /** One of the reasons, with the flag; absent without any. */
  readonly reason?: string;
}
