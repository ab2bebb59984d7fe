import type { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import type { Epoch } from "./epochs.js";
import type { ObjectEvent } from "./watch-event.js";

/** What a reflector tells, in order, never two at a time. What it throws is logged and does not stop the reflector. */
export interface ReflectorHandler {
  /** A consistent read begins. What it brings counts only when it is complete; one that fails is dropped without another word. */
  beginRead(): ConsistentRead;
  /** Something happened after the last read. */
  event(event: ObjectEvent, epoch: Epoch): void;
  /** The stream is up again without a read: it was closed cleanly and goes on where it was. */
  resumed(): void;
  /** The stream is down, or could not be opened; it is tried again. */
  failed(error: KubeError): void;
}

/** Collects what a consistent read brings. */
export interface ConsistentRead {
  add(object: KubeObject, resourceVersion: string): void;
  /** It was there when the read began, and is not any more. */
  remove(object: KubeObject): void;
  /** All that exists in the scope was added: what was not is absent as of this resourceVersion. */
  complete(resourceVersion: string, epoch: Epoch): void;
}

/** Why a reflector read everything anew. */
export type RelistReason = "start" | "closed" | "expired" | "failed" | "silent" | "asked";

/** What a reflector counts; the wiring backs it. */
export interface ReflectorMetrics {
  /** A consistent read begins. */
  relist(reason: RelistReason): void;
  event(type: ObjectEvent["type"] | "BOOKMARK"): void;
  error(error: KubeError): void;
}
