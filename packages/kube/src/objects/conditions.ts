/** A condition of a status, as `metav1.Condition`. */
export interface Condition {
  /** CamelCase, such as Ready. */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** CamelCase, one word a cause; never empty. */
  readonly reason: string;
  /** A sentence for a person. */
  readonly message: string;
  /** Time of the last change of `status`. RFC 3339, in whole seconds. */
  readonly lastTransitionTime: string;
  /** The generation of the object that the condition is about. */
  readonly observedGeneration?: number;
}

/**
 * The conditions with one of them set. Its `lastTransitionTime` changes with its status only, and the result is the same array if nothing has
 * changed at all: then there is nothing to write.
 */
export function setCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, "lastTransitionTime">,
  nowMs: number,
): readonly Condition[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[index];
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const isSameStatus = before?.status === condition.status;
  const next: Condition = {
    ...condition,
    lastTransitionTime: isSameStatus ? before.lastTransitionTime : now,
  };
  if (before === undefined) return [...conditions, next];
  return isEqual(before, next) ? conditions : conditions.with(index, next);
}

function isEqual(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}
