import type { FlagFilter } from "@bunting/evaluation";
import type { ChangeType, FlagChange } from "../../store/flag-change.js";

interface Change {
  readonly key: string;
  readonly type: ChangeType;
}

/**
 * What happened to a set of flags, net of everything that came in between: a flag that was written and deleted again did not change.
 * It goes by flagSetId and key, as only those together are one flag; clients are told keys.
 */
export class ChangeSet {
  readonly #changes = new Map<string, Change>();

  /** What of an update a selector's clients see: a flag that moves out of their set is deleted for them. */
  static select(changes: Iterable<FlagChange>, select: FlagFilter | undefined): ChangeSet {
    const set = new ChangeSet();
    for (const change of changes) {
      const type = select === undefined ? change.type : typeFor(change, select);
      if (type !== undefined) set.#changes.set(idOf(change), { key: change.key, type });
    }
    return set;
  }

  get size(): number {
    return this.#changes.size;
  }

  /**
   * Adds what happened after. `canCancel` false keeps the deletion of a flag that was written within: for a set that several
   * clients wait for, of whom some know that flag.
   */
  add(later: ChangeSet, canCancel = true): void {
    for (const [id, { key, type }] of later.#changes) {
      const before = this.#changes.get(id)?.type;
      if (before === "write" && type === "delete" && canCancel) this.#changes.delete(id);
      else this.#changes.set(id, { key, type: net(before, type) });
    }
  }

  /** By key; one that changed differently in several sets was updated. */
  byKey(): Map<string, ChangeType> {
    const keys = new Map<string, ChangeType>();
    for (const { key, type } of this.#changes.values()) {
      const other = keys.get(key);
      keys.set(key, other === undefined || other === type ? type : "update");
    }
    return keys;
  }
}

function idOf({ flagSetId, key }: FlagChange): string {
  return JSON.stringify([flagSetId, key]);
}

function typeFor({ before, after }: FlagChange, select: FlagFilter): ChangeType | undefined {
  const wasSelected = before !== undefined && select(before);
  const isSelected = after !== undefined && select(after);
  if (wasSelected) return isSelected ? "update" : "delete";
  return isSelected ? "write" : undefined;
}

function net(before: ChangeType | undefined, after: ChangeType): ChangeType {
  if (before === "write" && after === "update") return "write";
  if (before === "delete" && after === "write") return "update";
  return after;
}
