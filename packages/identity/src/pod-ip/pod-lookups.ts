import { sleep, type Clock } from "@bunting/runtime";
import type { ReviewQueueLimits } from "../review/review-queue.js";
import type { ReviewClient, ReviewerOptions } from "../review/reviewer-options.js";
import { ReviewCache, type ReviewTimes } from "../review/review-cache.js";
import { podOfAddress, type PodAnswer } from "./pod-of-address.js";

/**
 * Limits for lists of Pods: for each, the API server goes through all Pods of the cluster in its memory. Every
 * other list is for a newcomer, because rechecks matter less here: the connections of a Pod end with the Pod.
 */
export const podListLimits: ReviewQueueLimits = {
  burst: 200,
  perSecond: 20,
  maxConcurrent: 4,
  turnsPerNewcomer: 2,
};
/** The defaults that docs/security/pod-ip.md states. */
export const podLookupTimes: ReviewTimes = {
  grantedTtlMs: 100_000,
  refusedTtlMs: 30_000,
  recheckTtlMs: 100_000,
  staleIfErrorMs: 24 * 3_600_000,
  timeoutMs: 5_000,
};
/** Further lookups of an unknown address: a container may connect before the kubelet has reported its Pod's address. */
const lookAgain = { times: 4, afterMs: 1_000 };
const never = new AbortController().signal;

interface Question {
  readonly address: string;
  /** True to read from etcd; false to read from the API server's memory, which may lag behind. */
  readonly isConsistent: boolean;
}

export interface PodLookupsOptions extends ReviewerOptions {
  /** The API server was asked, and has answered. */
  readonly onAnswer: (address: string, answer: PodAnswer) => void;
}

/** Finds the Pods that have an address, by lists. */
export class PodLookups {
  readonly #clock: Clock;
  readonly #reviews: ReviewCache<Question, PodAnswer>;
  /** Lookups under way by address; all connections from an address share one. */
  readonly #underWay = new Map<string, Promise<PodAnswer>>();

  constructor({ onAnswer, ...options }: PodLookupsOptions) {
    const { client, clock } = options;
    this.#clock = clock;
    this.#reviews = new ReviewCache<Question, PodAnswer>(
      {
        keyOf: ({ address }) => address,
        callerOf: ({ address }) => address,
        ask: async (question, signal, before) => {
          const answer = samePod(await list(client, question, signal), before);
          onAnswer(question.address, answer);
          return answer;
        },
        isGranted: ({ kind }) => kind === "pod",
        rejected: { kind: "unknown" },
      },
      podLookupTimes,
      options,
    );
  }

  get size(): number {
    return this.#reviews.size;
  }

  /** Throws, or rejects with, a ReviewError. */
  answer(address: string): PodAnswer | Promise<PodAnswer> {
    return this.#look("answer", address);
  }

  /** As `answer`, but does not serve a cached Pod. */
  renew(address: string): PodAnswer | Promise<PodAnswer> {
    return this.#look("renew", address);
  }

  /** As `answer`, for an address with open streams. */
  recheck(address: string): PodAnswer | Promise<PodAnswer> {
    return this.#reviews.recheck({ address, isConsistent: false });
  }

  /** Drops the cached answer about an address. */
  forget(address: string): void {
    this.#reviews.forget({ address, isConsistent: false });
  }

  #look(how: "answer" | "renew", address: string): PodAnswer | Promise<PodAnswer> {
    const underWay = this.#underWay.get(address);
    if (underWay !== undefined) return underWay;
    const asked = this.#reviews[how]({ address, isConsistent: false });
    if (!(asked instanceof Promise)) return asked;
    const found = this.#find(address, asked).finally(() => this.#underWay.delete(address));
    this.#underWay.set(address, found);
    return found;
  }

  async #find(address: string, asked: Promise<PodAnswer>): Promise<PodAnswer> {
    let answer = await asked;
    for (let left = lookAgain.times; isTooNew(answer) && left > 0; left--) {
      await sleep(lookAgain.afterMs, never, this.#clock);
      const question = { address, isConsistent: left === 1 };
      this.#reviews.forgetRefusal(question);
      answer = await this.#reviews.answer(question);
    }
    return answer;
  }
}

/** True if the kubelet may not have reported the Pod yet; the address may have belonged to another Pod before. */
function isTooNew({ kind }: PodAnswer): boolean {
  return kind === "unknown" || kind === "ending";
}

/** Rechecks know an identity by its object. */
function samePod(answer: PodAnswer, before: PodAnswer | undefined): PodAnswer {
  if (answer.kind !== "pod" || before?.kind !== "pod") return answer;
  return answer.identity.podUid === before.identity.podUid ? before : answer;
}

async function list(
  client: ReviewClient,
  { address, isConsistent }: Question,
  signal: AbortSignal,
): Promise<PodAnswer> {
  // Two are enough to know that the address identifies no Pod: an address of the Pod network has one.
  const fieldSelector = `status.podIP=${address},status.phase!=Succeeded,status.phase!=Failed`;
  const query = { fieldSelector, limit: 2, ...(isConsistent ? {} : { resourceVersion: 0 }) };
  return podOfAddress(await client.raw({ method: "GET", path: "/api/v1/pods", query }, signal), address);
}
