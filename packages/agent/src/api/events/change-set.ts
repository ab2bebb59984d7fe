import type { FlagFilter } from "@bunting/evaluation";
import { identity, type ChangeType, type FlagChange } from "../../store/flag-change.js";

interface Change {
  readonly key: string;
  readonly type: ChangeType;
}

/**
 * The net changes of a set of flags: a flag that was written and deleted again did not change. Flags are identified by flagSetId and key
 * together; clients learn only keys.
 */
export class ChangeSet {
  readonly #changes = new Map<string, Change>();

  /** The changes that clients with a selector see: for them, a flag that leaves the selected set is deleted. */
  static select(changes: Iterable<FlagChange>, select: FlagFilter | undefined): ChangeSet {
    const set = new ChangeSet();
    for (const change of changes) {
      const type = select === undefined ? change.type : typeFor(change, select);
      if (type !== undefined) set.#changes.set(identity(change), { key: change.key, type });
    }
    return set;
  }

  get size(): number {
    return this.#changes.size;
  }

  /**
   * Adds later changes. With `canCancel` false, a flag that was written and then deleted stays as deleted: for a set that is shared by
   * several clients, some of which know that flag.
   */
  add(later: ChangeSet, canCancel = true): void {
    for (const [id, { key, type }] of later.#changes) {
      const before = this.#changes.get(id)?.type;
      if (before === "write" && type === "delete" && canCancel) this.#changes.delete(id);
      else this.#changes.set(id, { key, type: net(before, type) });
    }
  }

  /** By key; a key that changed differently in several flag sets counts as updated. */
  byKey(): Map<string, ChangeType> {
    const keys = new Map<string, ChangeType>();
    for (const { key, type } of this.#changes.values()) {
      const other = keys.get(key);
      keys.set(key, other === undefined || other === type ? type : "update");
    }
    return keys;
  }
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
