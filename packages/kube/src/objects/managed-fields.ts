import type { KubeObject } from "../rest/resource.js";

/** A manager and its fields of an object, as `metav1.ManagedFieldsEntry`. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  /** A tree: its keys name fields (`f:spec`) and items (`k:{"name":"x"}`), and `.` stands for the field or item itself. */
  readonly fieldsV1?: FieldSet;
  /** Set for fields that were written through a subresource, such as status. */
  readonly subresource?: string;
}

export interface FieldSet {
  readonly [field: string]: FieldSet;
}

/** Operations of a JSON patch (RFC 6902). */
export type JsonPatch = readonly {
  readonly op: "add" | "replace" | "test";
  readonly path: string;
  readonly value: unknown;
}[];

/**
 * A patch that transfers fields of other managers to us, as if we had applied them: the next apply removes those that it
 * does not contain. It takes over objects of a program that wrote by create and update; without it, that program's fields
 * would stay for ever.
 *
 * The patch carries the resourceVersion, so a change in the meantime is a CONFLICT. Fields that were written through a
 * subresource keep their manager.
 *
 * @param from true for each entry whose fields become ours
 * @returns undefined if there is nothing to take over
 */
export function takeOverFields(
  object: KubeObject,
  manager: string,
  from: (entry: ManagedFieldsEntry) => boolean,
): JsonPatch | undefined {
  const { managedFields = [], resourceVersion } = object.metadata as {
    readonly managedFields?: readonly ManagedFieldsEntry[];
    readonly resourceVersion?: string;
  };
  const isOurs = (entry: ManagedFieldsEntry): boolean =>
    entry.manager === manager && entry.operation === "Apply";
  const taken = managedFields.filter(
    (entry) => entry.subresource === undefined && !isOurs(entry) && from(entry),
  );
  const [first] = taken;
  if (first === undefined) return undefined;
  const ours = managedFields.filter((entry) => entry.subresource === undefined && isOurs(entry));
  const merged: ManagedFieldsEntry = {
    ...(ours[0] ?? first),
    manager,
    operation: "Apply",
    fieldsV1: [...ours, ...taken].map(({ fieldsV1 = {} }) => fieldsV1).reduce(union),
  };
  const others = managedFields.filter((entry) => !taken.includes(entry) && !ours.includes(entry));
  return [
    { op: "replace", path: "/metadata/managedFields", value: [merged, ...others] },
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
  ];
}

/**
 * A patch after which we own no fields of an object that others apply, though what we have applied stays: while we own a field of an item, the others can't remove
 * the item, but only their part of it. A change in the meantime is a CONFLICT, as above.
 *
 * @returns undefined if we own none
 */
export function releaseFields(object: KubeObject, manager: string): JsonPatch | undefined {
  const { managedFields = [], resourceVersion } = object.metadata as {
    readonly managedFields?: readonly ManagedFieldsEntry[];
    readonly resourceVersion?: string;
  };
  const others = managedFields.filter((entry) => entry.manager !== manager || entry.operation !== "Apply");
  // An empty list would be taken for none: the API server keeps what there was.
  if (others.length === managedFields.length || others.length === 0) return undefined;
  return [
    { op: "replace", path: "/metadata/managedFields", value: others },
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
  ];
}

function union(a: FieldSet, b: FieldSet): FieldSet {
  const both: Record<string, FieldSet> = { ...a };
  for (const [field, inner] of Object.entries(b)) {
    const known = both[field];
    both[field] = known === undefined ? inner : union(known, inner);
  }
  return both;
}
