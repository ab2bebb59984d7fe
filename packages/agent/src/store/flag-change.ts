import type { Flag } from "@bunting/evaluation";

export type ChangeType = "write" | "update" | "delete";

/** What one update did to one flag that is served. */
export interface FlagChange {
  readonly key: string;
  readonly flagSetId: string;
  readonly type: ChangeType;
  readonly before: Flag | undefined;
  readonly after: Flag | undefined;
}
