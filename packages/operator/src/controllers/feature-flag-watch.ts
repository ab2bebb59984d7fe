import {
  isKeyIn,
  keyOf,
  type Condition,
  type ConsistentRead,
  type KubeObject,
  type ObjectEvent,
  type ReflectorHandler,
} from "@bunting/kube";
import type { JsonObject } from "@bunting/protocol";
import { annotationOf } from "../admission/validate-feature-flag.js";

/** A FeatureFlag as the API server has it; of its status, what the check writes. */
export interface StoredFeatureFlag extends KubeObject {
  readonly status?: {
    readonly flags?: number;
    readonly digest?: string;
    readonly agents?: { readonly total: number };
    readonly rollout?: object;
    readonly conditions?: readonly Condition[];
  };
}

/** The condition that says whether a FeatureFlag is served as it is written. */
export const acceptedCondition = "Accepted";
/** The condition that says how far the rollout of a FeatureFlag is. */
export const rolledOutCondition = "RolledOut";

const maxLevelLength = 16;

export function acceptedOf({ status }: StoredFeatureFlag): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === acceptedCondition);
}

/** Listeners that are told of FeatureFlags beside the check of their flags. */
export interface FeatureFlagListeners {
  /** Called for each whose status spoke of agents when it was first seen. */
  readonly onCounted?: ((key: string) => void) | undefined;
  /** Called whenever one is seen that has spec.rollout, or had it, and when such a one is gone. */
  readonly onRollout?: ((key: string) => void) | undefined;
}

/**
 * Sees FeatureFlags go by, keeps none of them, and says which are to be checked: those whose condition is about another generation, and those
 * whose annotation has changed. What is remembered of each is a few words.
 */
export class FeatureFlagWatch implements ReflectorHandler {
  readonly #onUnchecked: (key: string) => void;
  readonly #others: FeatureFlagListeners;
  /** By key: uid, generation and the level of validation. */
  readonly #seen = new Map<string, string>();
  /** Keys of those that `onRollout` was called for. */
  readonly #rolledOut = new Set<string>();

  constructor(onUnchecked: (key: string) => void, others: FeatureFlagListeners = {}) {
    this.#onUnchecked = onUnchecked;
    this.#others = others;
  }

  beginRead(namespace?: string): ConsistentRead {
    const read = new Set<string>();
    return {
      add: (object) => {
        read.add(keyOf(object));
        this.#see(object, { isRead: true });
      },
      remove: (object) => void read.delete(keyOf(object)),
      complete: () => {
        for (const key of [...this.#seen.keys()])
          if (!read.has(key) && isKeyIn(key, namespace)) this.#gone(key);
      },
    };
  }

  event({ type, object }: ObjectEvent): void {
    if (type === "DELETED") this.#gone(keyOf(object));
    else this.#see(object, { isRead: false });
  }

  /** The uid of the object that has the key now; undefined if there is none, or if it has none. */
  uidOf(key: string): string | undefined {
    const uid = this.#seen.get(key)?.split(" ", 1)[0];
    return uid === "" ? undefined : uid;
  }

  /** The keys of those that there are in a namespace. */
  keysIn(namespace: string): readonly string[] {
    return [...this.#seen.keys()].filter((key) => isKeyIn(key, namespace));
  }

  /** Forgets everything: what goes by next is new. */
  clear(): void {
    this.#seen.clear();
    this.#rolledOut.clear();
  }

  #gone(key: string): void {
    this.#seen.delete(key);
    if (this.#rolledOut.delete(key)) this.#others.onRollout?.(key);
  }

  #see(object: StoredFeatureFlag, { isRead }: { readonly isRead: boolean }): void {
    const key = keyOf(object);
    const { onCounted, onRollout } = this.#others;
    if (hasRollout(object)) {
      this.#rolledOut.add(key);
      onRollout?.(key);
    }
    const { uid = "", generation = 0 } = object.metadata;
    const level = annotationOf(object as unknown as JsonObject);
    // A part of a longer text, which is no level, would keep all of it in memory.
    const isShort = typeof level === "string" && level.length <= maxLevelLength;
    const stamp = `${uid} ${generation} ${isShort ? level : ""}`;
    const before = this.#seen.get(key);
    const isChecked = acceptedOf(object)?.observedGeneration === generation;
    // After a restore of etcd, a generation may come again with other flags.
    if (before === stamp && (isChecked || !isRead)) return;
    this.#seen.set(key, stamp);
    if (before === undefined && (object.status?.agents?.total ?? 0) > 0) onCounted?.(key);
    if (before === undefined && isChecked) return;
    this.#onUnchecked(key);
  }
}

/** True as well while the status still says something of a rollout: flags that are too large have a condition alone. */
function hasRollout({
  spec,
  status,
}: StoredFeatureFlag & { readonly spec?: { readonly rollout?: unknown } }): boolean {
  const isSaid = status?.conditions?.some(({ type }) => type === rolledOutCondition) === true;
  return isSaid || (spec?.rollout ?? status?.rollout) !== undefined;
}
