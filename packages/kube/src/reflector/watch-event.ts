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
  /** For DELETED, the version of the deletion. */
  readonly resourceVersion: string;
}

/** No event up to this version is missing. */
export interface BookmarkEvent {
  readonly type: "BOOKMARK";
  readonly resourceVersion: string;
  /** All existing objects have been sent: the consistent read is complete. */
  readonly isInitialEventsEnd: boolean;
}

/** The API server ends this watch with an error, under HTTP 200. */
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
 * @throws KubeError PROTOCOL if it is not an event of a watch.
 */
export function parseWatchEvent(line: string): WatchEvent {
  let raw: RawEvent | null;
  try {
    raw = JSON.parse(line) as RawEvent | null;
  } catch (error) {
    throw new KubeError("PROTOCOL", `a watch sent a line that is not JSON: ${quoted(line, 120)}`, {
      cause: error,
    });
  }
  const { type, object } = raw ?? {};
  if (type === "ERROR") return { type, error: errorOfStatus(object) };
  const { resourceVersion, name, annotations } = object?.metadata ?? {};
  if (!isResourceVersion(resourceVersion))
    throw new KubeError("PROTOCOL", `a watch sent an event without a resourceVersion: ${quoted(line, 120)}`);
  if (type === "BOOKMARK") {
    const isInitialEventsEnd = annotations?.["k8s.io/initial-events-end"] === "true";
    return { type, resourceVersion, isInitialEventsEnd };
  }
  if ((type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") || typeof name !== "string")
    throw new KubeError("PROTOCOL", `a watch sent an event of an unknown type: ${quoted(line, 120)}`);
  return { type, object: object as KubeObject, resourceVersion };
}
