/** A copy without the fields that are undefined, or null, which counts as absent in Kubernetes. */
export function definedFields<T extends object>(object: T): T {
  const entries = Object.entries(object) as readonly (readonly [string, unknown])[];
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null)) as T;
}
