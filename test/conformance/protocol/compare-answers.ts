import { isDeepStrictEqual } from "node:util";
import type { Answer } from "./answer.js";

/** A place where two answers differ. */
export interface Difference {
  readonly path: readonly (string | number)[];
  readonly want: unknown;
  readonly got: unknown;
}

/**
 * Where an answer differs from flagd's. If it is of another kind, that is the only difference: everything else differs then too. One flag
 * among many is compared as a whole.
 */
export function differences(want: Answer, got: Answer): readonly Difference[] {
  if (kindOf(want) !== kindOf(got)) return [{ path: ["kind"], want: kindOf(want), got: kindOf(got) }];
  // The headers of an answer after an upgrade were not read.
  const isHeaderless = want.upgraded !== got.upgraded;
  return compare(
    isHeaderless ? { ...want, headers: {} } : want,
    isHeaderless ? { ...got, headers: {} } : got,
    [],
  );
}

/** What an answer is, in a few words: its HTTP status and its error. */
export function kindOf({ outcome, status = 0, grpc, json, endStream }: Answer): string {
  if (outcome !== undefined) return outcome;
  const member = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  const error =
    grpc?.code ??
    member(member(endStream, "error"), "code") ??
    (status >= 400 ? (member(json, "code") ?? member(json, "errorCode")) : undefined);
  if (typeof error !== "string") return `HTTP ${status}`;
  return status >= 400 ? `HTTP ${status} ${error}` : error;
}

function compare(want: unknown, got: unknown, path: readonly (string | number)[]): readonly Difference[] {
  if (isDeepStrictEqual(want, got)) return [];
  if (isList(want) && isList(got)) {
    if (want.length !== got.length) {
      return [...want, ...got].every((item) => keyOf(item) !== undefined)
        ? compare(byKey(want), byKey(got), path)
        : [{ path, want, got }];
    }
    return want.flatMap((item, at) => compare(item, got[at], [...path, keyOf(item) ?? at]));
  }
  if (isRecord(want) && isRecord(got) && !isOneFlag(path)) {
    // A server may have more metrics.
    const names =
      path[0] === "metrics" ? Object.keys(want) : [...new Set([...Object.keys(want), ...Object.keys(got)])];
    return names.flatMap((name) => compare(want[name], got[name], [...path, name]));
  }
  return [{ path, want, got }];
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The items of a list by key; a key may be there several times. */
function byKey(items: readonly unknown[]): Readonly<Record<string, unknown>> {
  const named: Record<string, unknown> = {};
  for (const item of items) {
    let name = keyOf(item) ?? "";
    while (name in named) name += " (again)";
    named[name] = item;
  }
  return named;
}

function keyOf(item: unknown): string | undefined {
  const key = isRecord(item) ? item["key"] : undefined;
  return typeof key === "string" ? key : undefined;
}

/** `json.flags.<key>`, `messages.0.flags.<key>`. */
function isOneFlag(path: readonly (string | number)[]): boolean {
  return path.at(-2) === "flags" && path.length <= 4 && !path.includes("flagConfiguration");
}
