import { randomBytes } from "node:crypto";
import type { RestClient } from "@bunting/kube";
import type { Context, Runnable } from "@bunting/runtime";
import { SecretKeeper } from "./secret-keeper.js";
import { webhookKeySecret } from "./webhook-key-secret.js";
import {
  nextWebhookKeys,
  webhookKeysAfterLoss,
  webhookKeysDueMs,
  type OtherAnswerer,
  type WebhookKey,
} from "./webhook-keys.js";

export interface WebhookKeyKeeperOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Context;
}

/** Makes the keys of the webhooks' paths, replaces them, and stores them in a Secret. Only the leader may run it. */
export class WebhookKeyKeeper implements Runnable {
  readonly name = "webhook keys";
  readonly #keeper: SecretKeeper<WebhookKey>;
  #appliedKey: string | undefined;
  #other: OtherAnswerer = "unknown";

  constructor(options: WebhookKeyKeeperOptions) {
    const { clock } = options.context;
    this.#keeper = new SecretKeeper({
      ...options,
      content: webhookKeySecret,
      rules: {
        next: (stored, known) => {
          const create = (): string => randomBytes(32).toString("base64url");
          const view = { nowMs: clock.now(), appliedKey: this.#appliedKey, other: this.#other, create };
          return nextWebhookKeys(stored ?? webhookKeysAfterLoss(known, view), view);
        },
        dueMs: webhookKeysDueMs,
        describe: ({ madeMs, usedMs }) => ({
          made: new Date(madeMs).toISOString(),
          state: usedMs === undefined ? "new" : "used",
        }),
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#keeper.run(signal);
  }

  /** To be called when the Secret has changed. */
  look(): void {
    this.#keeper.look();
  }

  /** To be called when it becomes known whether another operator answers webhooks. */
  otherAnswers(other: OtherAnswerer): void {
    this.#other = other;
    this.look();
  }

  /** To be called when all API servers have been told to call by this key. */
  keyApplied(key: string): void {
    this.#appliedKey = key;
    this.look();
  }
}
