/** The conditions of a Pod's status. */
export type PodConditions = readonly { readonly type: string; readonly status: string }[];

/** True for a Pod that the endpoints of its Services have. */
export function hasReadyCondition(conditions: PodConditions = []): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
