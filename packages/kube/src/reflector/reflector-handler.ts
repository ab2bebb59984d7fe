import type { KubeError } from "../kube-error.js";
import type { KubeObject, ResourceType } from "../rest/resource.js";
import type { Epoch } from "./epochs.js";
import type { ObjectEvent } from "./watch-event.js";

/**
 * Receives what a reflector reads, in order, one call at a time. What it throws is logged and does not stop the reflector. A handler to whom it makes no
 * difference how the stream is has none of the last three methods: the next read or event tells what has changed meanwhile.
 */
export interface ReflectorHandler {
  /**
   * A consistent read begins. Absence counts only once it is complete; a read that fails is dropped without another call.
   *
   * @param namespace what is read of a scope that is read by namespaces: absence counts there alone; absent: the whole scope
   */
  beginRead(namespace?: string): ConsistentRead;
  /** An object changed after the last read. */
  event(event: ObjectEvent, epoch: Epoch): void;
  /** The stream is up again without a read: it was closed cleanly and has resumed at its position. */
  resumed?(): void;
  /** The stream that was in sync has ended. It will be opened again after its admission. */
  interrupted?(): void;
  /** The stream is down, or could not be opened; the reflector retries. */
  failed?(error: KubeError): void;
}

export interface ConsistentRead {
  add(object: KubeObject, resourceVersion: string): void;
  /** An object of the read was deleted during the read; it may not have been added yet. */
  remove(object: KubeObject): void;
  /** Everything that exists in the scope was added; anything else is absent as of this resourceVersion. */
  complete(resourceVersion: string, epoch: Epoch): void;
}

export type RelistReason = "start" | "closed" | "expired" | "failed" | "silent" | "asked";

export interface ReflectorMetrics {
  /** A consistent read begins. */
  relist(reason: RelistReason): void;
  event(type: ObjectEvent["type"] | "BOOKMARK"): void;
  error(error: KubeError, type: ResourceType): void;
}
