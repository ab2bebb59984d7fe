import { KubeError } from "@bunting/kube";
import type { Identity } from "../identity.js";
import type { ReviewClient } from "../review/review-client.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import type { Reviews, ReviewTimes } from "../review/reviews.js";
import { reviewsOf } from "../review/reviews-of.js";
import { holds, identityOf, isEnding, isReady, type Pod } from "./pod.js";

/** The Pod of an address that was found before. */
export interface FoundPod {
  readonly address: string;
  readonly identity: Identity;
}

/** `unsure`: it may be the one, but another way of asking is better. */
export type Confirmation = "same" | "unsure" | "gone";

/** The defaults that docs/security.md states: new connections of an address are asked about soon, because it may belong to another Pod by then. */
export const podConfirmationTimes: ReviewTimes = {
  grantedMs: 20_000,
  refusedMs: 20_000,
  recheckMs: 20_000,
  awayMs: 24 * 3_600_000,
  patienceMs: 5_000,
};

/** Whether an address still belongs to the Pod that it belonged to, by the Pod's name: the API server need not go through all Pods for that. */
export class PodConfirmations {
  readonly #reviews: Reviews<FoundPod, Confirmation>;

  constructor(options: ReviewerOptions) {
    const { client } = options;
    this.#reviews = reviewsOf<FoundPod, Confirmation>(
      {
        keyOf: ({ address, identity }) => `${address} ${identity.podUid ?? ""}`,
        askerOf: ({ address }) => address,
        ask: (found, signal) => confirm(client, found, signal),
        // None of them is a refusal: what they mean is for the one who asks.
        isGranted: () => true,
        rejected: "unsure",
      },
      podConfirmationTimes,
      options,
    );
  }

  get size(): number {
    return this.#reviews.size;
  }

  /** Throws, or rejects with, a ReviewError. */
  answer(found: FoundPod): Confirmation | Promise<Confirmation> {
    return this.#reviews.answer(found);
  }

  /** It was found just now. */
  learn(found: FoundPod): void {
    this.#reviews.learn(found, "same");
  }
}

async function confirm(client: ReviewClient, found: FoundPod, signal: AbortSignal): Promise<Confirmation> {
  const { namespace, pod: name = "", podUid } = found.identity;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  try {
    // From the API server's memory.
    const answer = await client.raw({ method: "GET", path, query: { resourceVersion: 0 } }, signal);
    const pod = (answer ?? {}) as Pod;
    if (!holds(pod, found.address) || isEnding(pod) || identityOf(pod)?.podUid !== podUid) return "gone";
    return isReady(pod) && pod.spec?.hostNetwork !== true ? "same" : "unsure";
  } catch (error) {
    if (error instanceof KubeError && error.code === "NOT_FOUND") return "gone";
    throw error;
  }
}
