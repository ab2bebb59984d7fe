import type { EventRecorder, ObjectMeta, ObjectReference } from "@bunting/kube";
import { buntingAnnotations } from "../../api/names.js";
import { notInjectedReasons } from "../../pod/reasons.js";
import type { PodObserver } from "./pod-stream.js";
import { workloadOfPod } from "./workload-of-pod.js";

/**
 * Tells the owners of Pods why these were given no flags: whoever created a Deployment saw no warning about the Pods that a controller made of it.
 * Admission itself writes nothing, so the Pods' own annotation says it.
 */
export class NotInjectedEvents implements PodObserver {
  readonly #events: Pick<EventRecorder, "record">;
  /** The uids of Pods whose owners were told, by key. */
  readonly #told = new Map<string, string>();

  constructor(events: Pick<EventRecorder, "record">) {
    this.#events = events;
  }

  seen(key: string, metadata: ObjectMeta): void {
    const { namespace = "", name, uid = "", annotations = {} } = metadata;
    const reason = annotations[buntingAnnotations.notInjected];
    if (reason === undefined || !isReason(reason) || this.#told.get(key) === uid) return;
    this.#told.set(key, uid);
    const pod: ObjectReference = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
    const about = ownerOf(metadata);
    this.#events.record({
      ...(about === undefined ? { regarding: pod } : { regarding: { ...about, namespace }, related: pod }),
      ...{ type: "Warning", reason, action: "Inject" },
      note: `The Pod ${name} was given no flags: ${notInjectedReasons[reason]}.`,
    });
  }

  gone(key: string): void {
    this.#told.delete(key);
  }
}

function ownerOf(metadata: ObjectMeta): Omit<ObjectReference, "namespace"> | undefined {
  const owner = workloadOfPod({ metadata })?.owner;
  if (owner === undefined) return undefined;
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, name, uid };
}

/** Whoever creates a Pod can write anything there; only our own words are repeated. */
function isReason(text: string): text is keyof typeof notInjectedReasons {
  return Object.hasOwn(notInjectedReasons, text);
}
