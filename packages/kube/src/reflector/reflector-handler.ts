import type { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import type { Epoch } from "./epochs.js";
import type { ObjectEvent } from "./watch-event.js";

/** Receives what a reflector reads, in order, one call at a time. What it throws is logged and does not stop the reflector. */
export interface ReflectorHandler {
  /** A consistent read begins. Absence counts only once it is complete; a read that fails is dropped without another call. */
  beginRead(): ConsistentRead;
  /** Something happened after the last read. */
  event(event: ObjectEvent, epoch: Epoch): void;
  /** The stream is up again without a read: it was closed cleanly and resumes where it was. */
  resumed(): void;
  /** The stream that was in sync has ended. It will be opened again as soon as it is its turn. */
  interrupted(): void;
  /** The stream is down, or could not be opened; it will be retried. */
  failed(error: KubeError): void;
}

/** Receives the objects of a consistent read. */
export interface ConsistentRead {
  add(object: KubeObject, resourceVersion: string): void;
  /** An object that was added, or would have been, was deleted during the read. */
  remove(object: KubeObject): void;
  /** Everything that exists in the scope was added; anything else is absent as of this resourceVersion. */
  complete(resourceVersion: string, epoch: Epoch): void;
}

/** Why a reflector reads everything again. */
export type RelistReason = "start" | "closed" | "expired" | "failed" | "silent" | "asked";

/** What a reflector counts. */
export interface ReflectorMetrics {
  /** A consistent read begins. */
  relist(reason: RelistReason): void;
  event(type: ObjectEvent["type"] | "BOOKMARK"): void;
  error(error: KubeError): void;
}
