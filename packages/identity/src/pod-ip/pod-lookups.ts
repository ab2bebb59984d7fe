import { sleep, type Clock } from "@bunting/runtime";
import type { ApiLineLimits } from "../review/api-line.js";
import type { ReviewClient } from "../review/review-client.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import type { Reviews, ReviewTimes } from "../review/reviews.js";
import { reviewsOf } from "../review/reviews-of.js";
import { podOfAddress, type PodAnswer } from "./pod-of-address.js";

/**
 * How many lists of Pods the API server is asked for. For each it goes through all Pods of the cluster, in its memory. Newcomers have every
 * other turn: connections of a Pod end with it anyway.
 */
export const podListLimits: ApiLineLimits = {
  burst: 200,
  perSecond: 20,
  maxConcurrent: 4,
  turnsPerNewcomer: 2,
};
/** The defaults that docs/security.md states. */
export const podLookupTimes: ReviewTimes = {
  grantedMs: 100_000,
  refusedMs: 30_000,
  recheckMs: 100_000,
  awayMs: 24 * 3_600_000,
  patienceMs: 5_000,
};
/** A container may connect before the kubelet has reported the address of its Pod: how often, and after which time, it is looked for again. */
const lookAgain = { times: 4, afterMs: 1_000 };
const never = new AbortController().signal;

interface Question {
  readonly address: string;
  /** True: from etcd, instead of the API server's memory, which may be behind. */
  readonly isConsistent: boolean;
}

export interface PodLookupsOptions extends ReviewerOptions {
  /** The API server was asked, and has answered. */
  readonly onAnswer: (address: string, answer: PodAnswer) => void;
}

/** Finds the Pods that have an address, by lists. */
export class PodLookups {
  readonly #clock: Clock;
  readonly #reviews: Reviews<Question, PodAnswer>;
  /** One for each address, however many connections wait for it. */
  readonly #underWay = new Map<string, Promise<PodAnswer>>();

  constructor({ onAnswer, ...options }: PodLookupsOptions) {
    const { client, clock } = options;
    this.#clock = clock;
    this.#reviews = reviewsOf<Question, PodAnswer>(
      {
        keyOf: ({ address }) => address,
        askerOf: ({ address }) => address,
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

  /** The same, but asks again about a Pod that is known. */
  renew(address: string): PodAnswer | Promise<PodAnswer> {
    return this.#look("renew", address);
  }

  /** The same for an address with open streams. */
  recheck(address: string): PodAnswer | Promise<PodAnswer> {
    return this.#reviews.recheck({ address, isConsistent: false });
  }

  /** Forgets what is known about an address, so that the next question asks. */
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

/** Whether the Pod may be one that has not been reported yet: the address can have belonged to another before. */
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
  // One Pod has an address of the Pod network; two mean that it is a node's, or nobody's to conclude from.
  const fieldSelector = `status.podIP=${address},status.phase!=Succeeded,status.phase!=Failed`;
  const query = { fieldSelector, limit: 2, ...(isConsistent ? {} : { resourceVersion: 0 }) };
  return podOfAddress(await client.raw({ method: "GET", path: "/api/v1/pods", query }, signal), address);
}
