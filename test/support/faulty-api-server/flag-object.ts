import { randomUUID } from "node:crypto";

export const group = "core.openfeature.dev";
export const version = "v1beta1";
export const plural = "featureflags";
export const apiVersion = `${group}/${version}`;

export interface FlagObject {
  readonly apiVersion: string;
  readonly kind: "FeatureFlag";
  readonly metadata: FlagObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface FlagObjectMeta {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp: string;
  readonly generation: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly managedFields: readonly unknown[];
  readonly name: string;
  readonly namespace: string;
  readonly resourceVersion: string;
  readonly uid: string;
}

export interface PutOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of the object, as a write of its own would set it. Absent: as before. */
  readonly status?: unknown;
}

/**
 * The next version of an object, as the API server would store it: the uid stays while the object lives, `generation` counts only
 * changes of the spec. Returns the current object if nothing changed: the API server then writes nothing.
 */
export function nextObject(
  current: FlagObject | undefined,
  identity: { readonly namespace: string; readonly name: string; readonly resourceVersion: number },
  spec: unknown,
  options: PutOptions,
): FlagObject {
  const { namespace, name } = identity;
  const specChanged = current === undefined || toJson(current.spec) !== toJson(spec);
  const metaChanged =
    toJson(current?.metadata.annotations) !== toJson(options.annotations) ||
    toJson(current?.metadata.labels) !== toJson(options.labels);
  const { status = current?.status } = options;
  const statusChanged = toJson(current?.status) !== toJson(status);
  if (current !== undefined && !specChanged && !metaChanged && !statusChanged) return current;
  const now = wholeSeconds();
  const metadata: FlagObjectMeta = {
    ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
    creationTimestamp: current?.metadata.creationTimestamp ?? now,
    generation: (current?.metadata.generation ?? 0) + (specChanged ? 1 : 0),
    ...(options.labels === undefined ? {} : { labels: options.labels }),
    managedFields: [managedBy(now)],
    name,
    namespace,
    resourceVersion: String(identity.resourceVersion),
    uid: current?.metadata.uid ?? randomUUID(),
  };
  return freeze({
    ...{ apiVersion, kind: "FeatureFlag", metadata },
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status }),
  });
}

/** A DELETED event carries the last state with the resourceVersion of the deletion. */
export function tombstone(last: FlagObject, resourceVersion: number): FlagObject {
  return freeze({ ...last, metadata: { ...last.metadata, resourceVersion: String(resourceVersion) } });
}

/** JSON as Go writes a map: keys sorted at every depth, and characters escaped that are special in HTML or JavaScript. */
export function toJson(value: unknown): string {
  if (value === undefined) return "";
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(sorted(value)).replace(/[<>&\u2028\u2029]/g, escape);
}

/** One frame of the stack a level: objects may be nested as deep as the real API server takes them. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(sorted(item));
    return items;
  }
  const members: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (field !== undefined) members.push([key, sorted(field)]);
  }
  return Object.fromEntries(members);
}

function managedBy(time: string): unknown {
  return {
    apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": { ".": {}, "f:flagSpec": {} } },
    manager: "kubectl-client-side-apply",
    operation: "Update",
    time,
  };
}

function wholeSeconds(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}

/** Every object has its own copy of the spec: a test that modifies its spec later must not change history. */
function freeze(object: FlagObject): FlagObject {
  return JSON.parse(toJson(object)) as FlagObject;
}
