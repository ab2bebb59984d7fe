import {
  type EventRecorder,
  type KubeObject,
  type ObjectMeta,
  type ObjectReference,
  type RestClient,
  unlessNotFound,
} from "@bunting/kube";
import { Counts, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import type { PodManifest } from "../../api/pod-manifest.js";
import type { EntryLookup } from "../../admission/entry-lookup.js";
import { inject } from "../../pod/inject.js";
import { injectionRequest, type InjectionRequest } from "../../pod/injection-request.js";
import { notInjectedReasons } from "../../pod/reasons.js";
import { maxTextLength } from "../../sources/object-names.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { Evictor } from "./evictor.js";
import { cameEarly, isMissed, mayBeMissed } from "./is-missed.js";
import type { MissedPodsMetrics } from "./missed-pods-metrics.js";
import type { PodObserver } from "./pod-stream.js";
import { podType } from "../../api/core-types.js";
import { workloadOfPod, type WorkloadOfPod } from "./workload-of-pod.js";

export interface MissedPodsOptions {
  readonly client: Pick<RestClient, "get" | "create">;
  readonly events: Pick<EventRecorder, "record">;
  /** The answer that admission would give now. What it looks up must be there before `run`. */
  readonly lookup: EntryLookup;
  /** Namespaces in which no Pod is injected, so that none is missed. */
  readonly exempt: ReadonlySet<string>;
  /** Whether missed Pods are only reported, or evicted as well. */
  readonly policy: "report" | "evict";
  readonly context: Context<ControllerMetrics & MissedPodsMetrics>;
}

/** A Pod that may have been missed, as its metadata says. */
interface Candidate {
  readonly uid: string;
  /** By the monotonic clock. */
  readonly seenMs: number;
  /** What was not there when the Pod came; undefined for one that was not looked at. */
  readonly waitsFor: InjectionRequest | undefined;
  /** Undefined until the whole Pod was read. */
  isMissed: boolean | undefined;
}

/** A Pod that something replaces. */
interface MissedPod {
  readonly pod: KubeObject;
  readonly workload: WorkloadOfPod;
  readonly seenMs: number;
}

/** Until a Pod that can't be injected yet is looked at again, and one that is left as it is: it may have finished. In ms. */
const [reviewMs, rareReviewMs] = [60_000, 600_000];

/**
 * Finds Pods that asked for flags while neither the policy nor the webhook was there, or before their source was, and so run without: it counts
 * them, the latter once they could have flags, and tells their owners by an event. If it is told so, it evicts those that would be injected now, and that something replaces; Pods of Jobs are left alone, since their
 * work would be lost.
 */
export class MissedPods implements Runnable, PodObserver {
  readonly name = "missed pods";
  readonly #options: MissedPodsOptions;
  readonly #controller: Controller;
  readonly #evictor: Evictor;
  readonly #candidates = new Map<string, Candidate>();
  /** Missed Pods by namespace. */
  readonly #counts = new Counts<string>();

  constructor(options: MissedPodsOptions) {
    this.#options = options;
    this.#evictor = new Evictor(options.client, options.context);
    this.#controller = new Controller({
      name: "missed-pods",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // What an earlier time as the leader left undone.
    for (const [key, { isMissed: wasMissed }] of this.#candidates) {
      this.#controller.add(key);
      if (wasMissed === true) this.#count(key, 0);
    }
    await this.#controller.run(signal);
    // Another leader sees what becomes of them.
    for (const key of this.#candidates.keys()) this.#options.context.metrics.missedPods(namespaceOf(key), 0);
  }

  seen(key: string, metadata: ObjectMeta): void {
    const waitsFor = cameEarly(metadata) ? injectionRequest(metadata) : undefined;
    // Nothing can come that a longer text would name, and each would be kept.
    const isInVain = (waitsFor?.text.length ?? 0) > maxTextLength;
    if (isInVain || !mayBeMissed(metadata) || this.#options.exempt.has(metadata.namespace ?? "")) {
      this.gone(key);
      return;
    }
    const { uid = "" } = metadata;
    if (this.#candidates.get(key)?.uid === uid) return;
    this.gone(key);
    this.#candidates.set(key, {
      uid,
      seenMs: this.#options.context.clock.monotonicMs(),
      waitsFor,
      isMissed: undefined,
    });
    this.#controller.add(key);
  }

  gone(key: string): void {
    if (this.#candidates.get(key)?.isMissed === true) this.#count(key, -1);
    this.#candidates.delete(key);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const candidate = this.#candidates.get(key);
    if (candidate === undefined || candidate.isMissed === false) return undefined;
    const { waitsFor } = candidate;
    const [namespace = ""] = key.split("/");
    const isEarly = waitsFor !== undefined && "reason" in this.#options.lookup(namespace, waitsFor);
    if (isEarly && candidate.isMissed === undefined) return { requeueAfterMs: reviewMs };
    const pod = await this.#read(key, signal);
    // The stream will tell what became of it.
    if (pod?.metadata.uid !== candidate.uid || this.#candidates.get(key) !== candidate) return undefined;
    const wasMissed = candidate.isMissed;
    candidate.isMissed = isMissed(pod);
    if (wasMissed !== true && candidate.isMissed) this.#count(key, 1);
    if (wasMissed === true && !candidate.isMissed) this.#count(key, -1);
    if (!candidate.isMissed) return undefined;
    const workload = workloadOfPod(pod);
    const obstacle = this.#obstacle(pod);
    if (wasMissed === undefined) this.#report(pod, workload, obstacle);
    if (this.#options.policy !== "evict" || workload === undefined || workload.owner.kind === "Job")
      return { requeueAfterMs: rareReviewMs };
    if (obstacle !== undefined) return { requeueAfterMs: reviewMs };
    return this.#evict({ pod, workload, seenMs: candidate.seenMs }, signal);
  }

  #read(key: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    const [namespace = "", name = ""] = key.split("/");
    return unlessNotFound(this.#options.client.get({ type: podType, namespace, name }, signal));
  }

  /** Why the Pod would not be injected if it were created now; undefined if it would be. */
  #obstacle(pod: KubeObject): string | undefined {
    const request = injectionRequest(pod.metadata);
    if (request === undefined) return notInjectedReasons.NoSource;
    const entry = this.#options.lookup(pod.metadata.namespace ?? "", request);
    if ("reason" in entry) return entry.message;
    const result = inject(pod as KubeObject & PodManifest, entry, "webhook");
    return result.kind === "injected" ? undefined : notInjectedReasons[result.reason];
  }

  async #evict({ pod, workload, seenMs }: MissedPod, signal: AbortSignal): Promise<WorkResult> {
    const outcome = await this.#evictor.evict({ pod, workload: workload.key, seenMs }, signal);
    if (outcome.kind === "later") return { requeueAfterMs: outcome.afterMs };
    const { name } = pod.metadata;
    if (outcome.kind === "evicted") {
      const note = `The Pod ${name} has no flags, and was evicted so that another one is created with them.`;
      this.#record(pod, workload, { reason: "Evicted", note });
    } else {
      const note = `The Pod ${name} took the place of an evicted one, and has no flags either: the policy and the webhook of Bunting do not work in this namespace. No more Pods of this workload are evicted for now.`;
      this.#record(pod, workload, { reason: "EvictedInVain", note });
    }
    return { requeueAfterMs: rareReviewMs };
  }

  #report(pod: KubeObject, workload: WorkloadOfPod | undefined, obstacle: string | undefined): void {
    const { name } = pod.metadata;
    const why = cameEarly(pod.metadata)
      ? "it was created before what it asks for was there"
      : "neither the policy nor the webhook of Bunting was there when it was created";
    const begin = `The Pod ${name} asks for flags and was given none, because ${why}`;
    const note =
      obstacle === undefined
        ? `${begin}: create it again, for instance by kubectl rollout restart.`
        : `${begin}; now it would not be given any either: ${obstacle}.`;
    this.#record(pod, workload, { reason: "Missed", note });
  }

  #record(
    pod: KubeObject,
    workload: WorkloadOfPod | undefined,
    { reason, note }: { readonly reason: string; readonly note: string },
  ): void {
    const { namespace = "", name, uid = "" } = pod.metadata;
    const reference: ObjectReference = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
    const details = { type: "Warning", reason, action: "Inject", note } as const;
    const { events } = this.#options;
    if (workload === undefined) {
      events.record({ regarding: reference, ...details });
      return;
    }
    const { apiVersion, kind, name: ownerName, uid: ownerUid } = workload.owner;
    const owner: ObjectReference = { apiVersion, kind, namespace, name: ownerName, uid: ownerUid };
    events.record({ regarding: owner, related: reference, ...details });
  }

  #count(key: string, change: number): void {
    const namespace = namespaceOf(key);
    this.#options.context.metrics.missedPods(namespace, this.#counts.add(namespace, change));
  }
}

/** The namespace in the key of a Pod. */
function namespaceOf(key: string): string {
  const [namespace = ""] = key.split("/");
  return namespace;
}
