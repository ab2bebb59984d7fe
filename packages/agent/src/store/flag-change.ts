import type { Flag } from "@bunting/evaluation";

/** The same text for flags that stand for each other: those of several sources, or before and after a change. */
export function identity({ flagSetId, key }: Pick<Flag, "flagSetId" | "key">): string {
  return `${flagSetId.length} ${flagSetId}${key}`;
}

export type ChangeType = "write" | "update" | "delete";

/** What one update did to one flag that is served. */
export interface FlagChange {
  readonly key: string;
  readonly flagSetId: string;
  readonly type: ChangeType;
  readonly before: Flag | undefined;
  readonly after: Flag | undefined;
}
