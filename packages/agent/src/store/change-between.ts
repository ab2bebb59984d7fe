import { isSameFlag, type Flag } from "@bunting/evaluation";
import { identity, type FlagChange } from "./flag-change.js";
import type { StoreChange } from "./flag-store.js";

/** Changes that lead from the flags that were served to those that are. A flag whose source is merely at another place concerns the evaluator alone. */
export function changeBetween(before: Iterable<Flag>, after: Iterable<Flag>): StoreChange {
  const left = new Map([...before].map((flag) => [identity(flag), flag]));
  const changes: FlagChange[] = [];
  const upserted: Flag[] = [];
  for (const is of after) {
    const id = identity(is);
    const was = left.get(id);
    left.delete(id);
    if (was === is) continue;
    upserted.push(is);
    const { key, flagSetId, sourceIndex } = is;
    if (was === undefined) changes.push({ key, flagSetId, type: "write", before: was, after: is });
    else if (!isSameFlag({ ...was, sourceIndex }, is))
      changes.push({ key, flagSetId, type: "update", before: was, after: is });
  }
  const removed = [...left.values()];
  for (const was of removed)
    changes.push({ key: was.key, flagSetId: was.flagSetId, type: "delete", before: was, after: undefined });
  return { changes, upserted, removed };
}
