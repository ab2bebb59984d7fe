import type { Authenticator, Caller } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import type { Identity } from "../identity.js";
import type { ReviewQueue } from "../review/review-queue.js";
import { identityErrorOf } from "../review/identity-error-of.js";
import type { ReviewResult } from "../review/review-cache.js";
import type { ReviewerOptions } from "../review/reviewer-options.js";
import { podAddress } from "./pod-address.js";
import { podConfirmations, type Confirmation } from "./pod-confirmations.js";
import { PodLookups } from "./pod-lookups.js";
import type { PodAnswer } from "./pod-of-address.js";

/** The permission that the proxy's ServiceAccount needs for these reviews. */
export const podPermission = "get and list on pods";

export interface PodAddressesOptions extends ReviewerOptions {
  /** The queue for lists of Pods, with `podListLimits`: a list costs the API server more than a Pod by its name. */
  readonly listQueue: ReviewQueue;
}

/**
 * Identifies a caller as the ServiceAccount of the Pod that has the caller's address. It is for clients that
 * can present nothing; docs/security/pod-ip.md says what it cannot promise.
 */
export class PodAddresses implements Authenticator {
  readonly #lookups: PodLookups;
  readonly #confirmations: ReturnType<typeof podConfirmations>;
  readonly #addresses = new WeakMap<Identity, string>();

  constructor({ listQueue, times, onReview, ...reviewer }: PodAddressesOptions) {
    const counted = (result: ReviewResult): void =>
      onReview?.(result, this.#lookups.size + this.#confirmations.size);
    const options = { ...reviewer, onReview: counted };
    this.#confirmations = podConfirmations(options);
    this.#lookups = new PodLookups({
      ...options,
      ...(times === undefined ? {} : { times }),
      queue: listQueue,
      onAnswer: (address, answer) => {
        if (answer.kind !== "pod") return;
        this.#confirmations.put({ address, identity: answer.identity }, "same");
      },
    });
  }

  identify({ address: remoteAddress }: Caller): Identity | Promise<Identity> {
    const address = podAddress(remoteAddress);
    if (address === undefined) throw refusal(remoteAddress, "unknown");
    try {
      const found = this.#lookups.answer(address);
      const identity =
        found instanceof Promise ? this.#after(address, found) : this.#confirmed(address, found);
      if (!(identity instanceof Promise)) return identity;
      return identity.catch((error: unknown) => {
        throw identityErrorOf(error);
      });
    } catch (error) {
      throw identityErrorOf(error);
    }
  }

  async recheck(identity: Identity): Promise<IdentityError | undefined> {
    const address = this.#addresses.get(identity);
    if (address === undefined) return undefined;
    try {
      const answer = await this.#lookups.recheck(address);
      const isPod = answer.kind === "pod";
      const podUid = isPod ? answer.identity.podUid : answer.kind === "ending" ? answer.podUid : undefined;
      if (podUid !== undefined && podUid === identity.podUid) return undefined;
      if (!isPod) return refusal(address, answer.kind);
      return new IdentityError(
        "POD_UNKNOWN",
        `the address ${address} belongs to another Pod by now; connect again`,
      );
    } catch (error) {
      return identityErrorOf(error);
    }
  }

  async #after(address: string, found: Promise<PodAnswer>): Promise<Identity> {
    return this.#identityOf(address, await found);
  }

  /** The identity of the cached Pod, once its name confirms that the Pod still has the address. */
  #confirmed(address: string, answer: PodAnswer): Identity | Promise<Identity> {
    if (answer.kind !== "pod") throw refusal(address, answer.kind);
    const decide = (confirmation: Confirmation): Identity | Promise<Identity> =>
      confirmation === "same" ? this.#identityOf(address, answer) : this.#lookUpAgain(address, confirmation);
    const confirmation = this.#confirmations.answer({ address, identity: answer.identity });
    return confirmation instanceof Promise ? confirmation.then(decide) : decide(confirmation);
  }

  /**
   * Searches all Pods, because the known one may not have the address any more. The answer about a Pod that is
   * gone is dropped first, so that it is not served while the API server is unavailable.
   */
  async #lookUpAgain(address: string, confirmation: "unsure" | "gone"): Promise<Identity> {
    if (confirmation === "gone") this.#lookups.forget(address);
    return this.#identityOf(address, await this.#lookups.renew(address));
  }

  #identityOf(address: string, answer: PodAnswer): Identity {
    if (answer.kind !== "pod") throw refusal(address, answer.kind);
    this.#addresses.set(answer.identity, address);
    return answer.identity;
  }
}

const reasons = {
  unknown: "no running Pod has this address",
  ending: "the Pod that has it is being deleted",
  "host-network": "it is the address of a node, which all Pods with hostNetwork share",
  ambiguous: "several Pods have this address",
  "no-account": "the Pod that has it runs as no ServiceAccount, as static Pods do",
} as const;

function refusal(address: string, kind: keyof typeof reasons): IdentityError {
  const message = `the proxy identifies callers by the address of their Pod, and ${address} is that of none: ${reasons[kind]}`;
  return new IdentityError("POD_UNKNOWN", message);
}
