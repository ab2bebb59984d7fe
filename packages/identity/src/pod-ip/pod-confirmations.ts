import { unlessNotFound } from "@bunting/kube";
import type { Identity } from "../identity.js";
import type { ReviewClient, ReviewerOptions } from "../review/reviewer-options.js";
import { ReviewCache, type ReviewTimes } from "../review/review-cache.js";
import { holds, identityOf, isEnding, isReady, type Pod } from "./pod.js";

export interface FoundPod {
  readonly address: string;
  readonly identity: Identity;
}

/** `unsure`: the Pod may have the address, and only a list of Pods can tell. */
export type Confirmation = "same" | "unsure" | "gone";

/**
 * The defaults that docs/security/pod-ip.md states. They are short, because an address may pass to another Pod within
 * seconds, and a new connection from it must not get the identity of the old Pod.
 */
export const podConfirmationTimes: ReviewTimes = {
  grantedTtlMs: 20_000,
  refusedTtlMs: 20_000,
  recheckTtlMs: 20_000,
  staleIfErrorMs: 24 * 3_600_000,
  timeoutMs: 5_000,
};

/**
 * Answers whether an address still belongs to the Pod that had it. That Pod is read by its name, which spares the API server a search through
 * all Pods.
 */
export function podConfirmations(options: ReviewerOptions): ReviewCache<FoundPod, Confirmation> {
  const { client } = options;
  return new ReviewCache<FoundPod, Confirmation>(
    {
      keyOf: ({ address, identity }) => `${address} ${identity.podUid ?? ""}`,
      callerOf: ({ address }) => address,
      ask: (found, signal) => confirm(client, found, signal),
      // The caller of `answer` decides what each answer means, so none of them is cached as a refusal.
      isGranted: () => true,
      rejected: "unsure",
    },
    podConfirmationTimes,
    options,
  );
}

async function confirm(client: ReviewClient, found: FoundPod, signal: AbortSignal): Promise<Confirmation> {
  const { namespace, pod: name = "", podUid } = found.identity;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  // From the API server's memory.
  const request = { method: "GET", path, query: { resourceVersion: 0 } } as const;
  const pod = ((await unlessNotFound(client.raw(request, signal))) ?? {}) as Pod;
  if (!holds(pod, found.address) || isEnding(pod) || identityOf(pod)?.podUid !== podUid) return "gone";
  return isReady(pod) && pod.spec?.hostNetwork !== true ? "same" : "unsure";
}
