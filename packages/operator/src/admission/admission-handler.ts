import { timingSafeEqual } from "node:crypto";
import type { Context, RateLimitedLog } from "@bunting/runtime";
import { plainKey, secretPath } from "../api/webhooks.js";
import { answerReview, type AdmissionAnswer } from "./admission-answer.js";
import type { AdmissionMetrics, AdmissionResult, AdmissionWebhook } from "./admission-metrics.js";
import { readReview, type AdmissionRequest } from "./admission-review.js";

/** Answers the reviews of one path. It must answer within milliseconds: it asks nobody, and changes nothing outside of its answer. */
export interface Webhook {
  readonly name: AdmissionWebhook;
  /** The types of the objects that it answers for; reviews of others are malformed. */
  readonly kinds: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
  /** @param startedMs when the review came, on the monotonic clock: who asks waits a few seconds from then on */
  readonly review: (
    request: AdmissionRequest,
    startedMs: number,
  ) => AdmissionAnswer | Promise<AdmissionAnswer>;
}

/** The answer to a review over HTTP. */
export interface ReviewReply {
  readonly status: number;
  readonly body: string;
}

export interface AdmissionHandlerOptions {
  /** By path, without the secret that follows. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  /** The keys of the paths, each of which is answered. */
  readonly keys: () => readonly string[];
  readonly context: Context<Pick<AdmissionMetrics, "admission">>;
  /** For lines that peers can cause. */
  readonly log: RateLimitedLog;
}

/**
 * Answers reviews of all paths, and never fails. What is no review is answered with 400 and a sentence. A fault of our own is a 500: the API
 * server then goes by the webhook's failure policy, which lets objects pass unless their owner said otherwise.
 */
export class AdmissionHandler {
  readonly #options: AdmissionHandlerOptions;

  constructor(options: AdmissionHandlerOptions) {
    this.#options = options;
  }

  /** The webhook that answers a path; undefined: nothing does, or who asks does not know a key. */
  webhookAt(path: string): Webhook | undefined {
    const { webhooks, keys } = this.#options;
    if (keys().includes(plainKey) && webhooks.has(path)) return webhooks.get(path);
    const plain = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const webhook = webhooks.get(plain);
    if (webhook === undefined) return undefined;
    const given = Buffer.from(path);
    const isKnown = keys()
      .map((key) => Buffer.from(secretPath(plain, key)))
      .filter((expected) => expected.length === given.length && timingSafeEqual(expected, given));
    return isKnown.length > 0 ? webhook : undefined;
  }

  /**
   * Never rejects.
   *
   * @param startedMs when the request came, on the monotonic clock
   */
  async handle(webhook: Webhook, body: Buffer, startedMs: number): Promise<ReviewReply> {
    try {
      return await this.#answer(webhook, body, startedMs);
    } catch (error) {
      this.#count(webhook, "failed");
      this.#options.log.error("admission", { error, webhook: webhook.name }, "a review can't be answered");
      return {
        status: 500,
        body: "The review can't be answered because of a fault of the operator: its log says more.\n",
      };
    }
  }

  async #answer(webhook: Webhook, body: Buffer, startedMs: number): Promise<ReviewReply> {
    const request = readReview(body);
    if ("problem" in request) return this.#malformed(webhook, request.problem);
    const asked = request.kind;
    const isExpected = webhook.kinds.some(
      ({ group, version, kind }) => asked.group === group && asked.version === version && asked.kind === kind,
    );
    if (!isExpected) {
      const expected = webhook.kinds.map(
        ({ group, version, kind }) => `${kind} (${group === "" ? version : `${group}/${version}`})`,
      );
      return this.#malformed(webhook, `this path reviews objects of the kind ${expected.join(", ")} only`);
    }
    const answer = await webhook.review(request, startedMs);
    this.#count(webhook, resultOf(answer));
    return { status: 200, body: JSON.stringify(answerReview(request.uid, answer)) };
  }

  #malformed(webhook: Webhook, problem: string): ReviewReply {
    this.#count(webhook, "malformed");
    this.#options.log.warn(
      "malformed",
      { webhook: webhook.name, problem },
      "a request is not an admission review",
    );
    return { status: 400, body: `${problem}\n` };
  }

  #count({ name }: Webhook, result: AdmissionResult): void {
    this.#options.context.metrics.admission(name, result);
  }
}

function resultOf({ isAllowed, patch = [], warnings = [] }: AdmissionAnswer): AdmissionResult {
  if (!isAllowed) return "refused";
  if (patch.length > 0) return "patched";
  return warnings.length > 0 ? "warned" : "allowed";
}
