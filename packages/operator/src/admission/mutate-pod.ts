import type { PodManifest } from "../api/pod-manifest.js";
import { inject, markNotInjected } from "../pod/inject.js";
import { injectionRequest, wantsFlags } from "../pod/injection-request.js";
import { podPatch } from "../pod/patch.js";
import { notInjectedReasons, type NotInjectedReason } from "../pod/reasons.js";
import { admitted, type AdmissionAnswer } from "./admission-answer.js";
import type { Webhook } from "./admission-handler.js";
import type { AdmissionMetrics } from "./admission-metrics.js";
import type { AdmissionRequest } from "./admission-review.js";
import type { EntryLookup, MissingEntry } from "./entry-lookup.js";

/** What becomes of Pods that name what is not there, or not shared with them: `refuse` has what makes them try again until it is. */
export type MissingSourcePolicy = "admit" | "refuse";

export interface PodWebhookOptions {
  readonly lookup: EntryLookup;
  /**
   * True for Pods that must not start without what they ask for. Those that can be given it were, by the webhook before: this one refuses, and tells nobody
   * what is in an entry, because API servers quote its URL in errors.
   */
  readonly isRequired: boolean;
  readonly missingSource: MissingSourcePolicy;
  readonly metrics: Pick<AdmissionMetrics, "injected" | "notInjected">;
}

/** What another object's owner may still do. A Pod that was admitted would never hear of it. */
const mayCome: ReadonlySet<NotInjectedReason> = new Set(["UnknownSource", "NotShared"]);

const podKind = { group: "", version: "v1", kind: "Pod" } as const;

/**
 * Gives Pods their sidecar, or their variables. A Pod that can't have them is admitted with a warning and an annotation that says why, unless it
 * is one to be refused. It is shown again after other webhooks have changed it, and then its new containers are completed.
 */
export function podWebhook(options: PodWebhookOptions): Webhook {
  return { name: "pod", kinds: [podKind], review: (request) => reviewPod(request, options) };
}

function reviewPod(request: AdmissionRequest, options: PodWebhookOptions): AdmissionAnswer {
  const { operation, subResource, object } = request;
  if (operation !== "CREATE" || subResource !== "" || object === undefined) return admitted;
  const pod = podOf(object);
  if (pod === undefined || !wantsFlags(pod.metadata)) return admitted;
  const outcome = injectedPod(pod, request.namespace, options);
  const { metrics } = options;
  if ("reason" in outcome) {
    metrics.notInjected(outcome.reason);
    return notInjected(pod, outcome, options);
  }
  if (options.isRequired)
    return refused(
      "this Pod must not start without its flags, and the webhook that gives them did not answer: try again",
    );
  metrics.injected();
  return { isAllowed: true, patch: podPatch(pod, outcome.pod) };
}

function injectedPod(
  pod: PodManifest,
  namespace: string,
  { lookup }: PodWebhookOptions,
): { readonly pod: PodManifest } | MissingEntry {
  const request = injectionRequest(pod.metadata);
  if (request === undefined) return missing("NoSource");
  const entry = lookup(namespace, request);
  if ("reason" in entry) return entry;
  const result = inject(pod, entry, "webhook");
  return result.kind === "injected" ? result : missing(result.reason);
}

function missing(reason: NotInjectedReason): MissingEntry {
  return { reason, message: notInjectedReasons[reason] };
}

function notInjected(
  pod: PodManifest,
  { reason, message }: MissingEntry,
  { isRequired, missingSource }: PodWebhookOptions,
): AdmissionAnswer {
  if (isRequired)
    return refused(
      `this Pod must not start without its flags (bunting.dev/injection: required), and it can't have them: ${message}`,
    );
  if (missingSource === "refuse" && mayCome.has(reason))
    return refused(
      `this Pod is not created before it can have its flags (the operator's --missing-source=refuse): ${message}`,
    );
  const warnings = [`the Pod gets no flags: ${message}`];
  return { isAllowed: true, warnings, patch: podPatch(pod, markNotInjected(pod, reason)) };
}

function refused(message: string): AdmissionAnswer {
  return { isAllowed: false, refusal: { message } };
}

/** Undefined for what the API server would not take for a Pod. */
function podOf(object: object): PodManifest | undefined {
  const { metadata, spec } = object as Partial<PodManifest>;
  if (typeof metadata !== "object" || typeof spec !== "object") return undefined;
  return Array.isArray(spec.containers) ? (object as PodManifest) : undefined;
}
