import { isDeepStrictEqual } from "node:util";
import type { PodManifest } from "../api/pod-manifest.js";

/** An operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/**
 * The JSON patch that turns one Pod into the other. Fields and items that are equal in both are not in it: an AdmissionReview carries it, and the
 * API server logs it.
 */
export function podPatch(before: PodManifest, after: PodManifest): PatchOperation[] {
  return objectPatch(before, after);
}

/** The same for any object. */
export function objectPatch(before: object, after: object): PatchOperation[] {
  return difference("", before, after);
}

function difference(path: string, before: unknown, after: unknown): PatchOperation[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return ofLists(path, before, after);
  if (isRecord(before) && isRecord(after)) return ofRecords(path, before, after);
  return [{ op: "replace", path, value: after }];
}

type JsonRecord = Readonly<Record<string, unknown>>;

function ofRecords(path: string, before: JsonRecord, after: JsonRecord): PatchOperation[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): PatchOperation[] => {
    const at = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const [old, value] = [before[name], after[name]];
    if (value === undefined) return old === undefined ? [] : [{ op: "remove", path: at }];
    return old === undefined ? [{ op: "add", path: at, value }] : difference(at, old, value);
  });
}

/** Items keep their order. What was inserted is found by the equal items, or those of the same name, around it. */
function ofLists(path: string, before: readonly unknown[], after: readonly unknown[]): PatchOperation[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isSameItem(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isSameItem(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  const changes = (index: number, from: number): PatchOperation[] =>
    difference(`${path}/${index}`, before[from], after[index]);
  return [
    ...indices(0, head).flatMap((index) => changes(index, index)),
    ...indices(head, oldEnd).map((): PatchOperation => ({ op: "remove", path: `${path}/${head}` })),
    ...indices(head, newEnd).map((index): PatchOperation => ({
      op: "add",
      path: `${path}/${index}`,
      value: after[index],
    })),
    ...indices(newEnd, after.length).flatMap((index) => changes(index, index - newEnd + oldEnd)),
  ];
}

function isSameItem(one: unknown, other: unknown): boolean {
  if (isRecord(one) && isRecord(other) && one["name"] !== undefined) return one["name"] === other["name"];
  return isDeepStrictEqual(one, other);
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function indices(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
