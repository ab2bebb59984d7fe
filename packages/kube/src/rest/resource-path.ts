import type { ResourceScope } from "./resource.js";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path of all objects in the scope; the scope's name is ignored. */
export function collectionPath({ type, namespace }: ResourceScope): string {
  const root = type.group === "" ? ["api"] : ["apis", type.group];
  const space = namespace === undefined ? [] : ["namespaces", namespace];
  return pathOf([...root, type.version, ...space, type.plural]);
}

/** The path of one object, or of one of its subresources such as `status`. */
export function objectPath(scope: ResourceScope, name: string, subresource?: string): string {
  return `${collectionPath(scope)}${pathOf([name, ...(subresource === undefined ? [] : [subresource])])}`;
}

/** `?…`, or an empty string. Undefined values are left out. */
export function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** The query of a list or watch: the scope's name becomes a field selector, in addition to one that is given. */
export function selecting({ name, labelSelector }: ResourceScope, query: Query): Query {
  const labelled = labelSelector === undefined || labelSelector === "" ? query : { ...query, labelSelector };
  if (name === undefined) return labelled;
  const byName = `metadata.name=${name}`;
  const { fieldSelector } = query;
  return { ...labelled, fieldSelector: fieldSelector === undefined ? byName : `${byName},${fieldSelector}` };
}

function pathOf(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}
