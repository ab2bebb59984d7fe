import { quoted } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { errorOfStatus } from "../rest/status-error.js";
import type { KubeObject } from "../rest/resource.js";
import { isResourceVersion } from "./resource-version.js";

/** One line of a watch. */
export type WatchEvent = ObjectEvent | BookmarkEvent | ErrorEvent;

export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  /** For DELETED, of the deletion. */
  readonly resourceVersion: string;
}

/** Nothing happened up to here. */
export interface BookmarkEvent {
  readonly type: "BOOKMARK";
  readonly resourceVersion: string;
  /** Everything that there was has been sent: the consistent read is complete. */
  readonly isInitialEventsEnd: boolean;
}

/** The API server gives this watch up, under HTTP 200. */
export interface ErrorEvent {
  readonly type: "ERROR";
  readonly error: KubeError;
}

interface RawEvent {
  readonly type?: unknown;
  readonly object?: {
    readonly metadata?: {
      readonly name?: unknown;
      readonly resourceVersion?: unknown;
      readonly annotations?: Readonly<Record<string, unknown>>;
    };
  };
}

/**
 * Reads one line of a watch.
 *
 * @throws KubeError PROTOCOL if no API server would write it.
 */
export function parseWatchEvent(line: string): WatchEvent {
  let raw: RawEvent | null;
  try {
    raw = JSON.parse(line) as RawEvent | null;
  } catch (error) {
    throw new KubeError("PROTOCOL", `a watch brought a line that is no JSON: ${quoted(line, 120)}`, {
      cause: error,
    });
  }
  const { type, object } = raw ?? {};
  if (type === "ERROR") return { type, error: errorOfStatus(object) };
  const { resourceVersion, name, annotations } = object?.metadata ?? {};
  if (!isResourceVersion(resourceVersion)) {
    throw new KubeError(
      "PROTOCOL",
      `a watch brought an event without a resourceVersion: ${quoted(line, 120)}`,
    );
  }
  if (type === "BOOKMARK") {
    const isInitialEventsEnd = annotations?.["k8s.io/initial-events-end"] === "true";
    return { type, resourceVersion, isInitialEventsEnd };
  }
  if ((type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") || typeof name !== "string") {
    throw new KubeError("PROTOCOL", `a watch brought an event of no known kind: ${quoted(line, 120)}`);
  }
  return { type, object: object as KubeObject, resourceVersion };
}
