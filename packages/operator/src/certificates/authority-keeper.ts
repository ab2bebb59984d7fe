import { type ObjectScope, type RestClient, unlessNotFound } from "@bunting/kube";
import { WorkQueue, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import {
  authoritiesAfterLoss,
  authoritiesDueMs,
  nextAuthorities,
  type Authorities,
  type AuthorityView,
} from "./authority.js";
import {
  authoritiesOfSecret,
  authoritySecretName,
  secretDataOf,
  secretType,
  type SecretObject,
} from "./authority-secret.js";
import type { CertificateMetrics } from "./certificate-metrics.js";
import { createAuthority } from "./issue-certificate.js";

export interface AuthorityKeeperOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Context<Pick<CertificateMetrics, "notAfter" | "issued">>;
}

/** The wall clock may be set, and the Secret is read again, so no wait is longer. */
const longestWaitMs = 600_000;

/**
 * Makes the operator's authorities, renews them, and stores them in a Secret. Only the leader may run it; writes carry the version that was
 * read, so that of two that think they lead, one begins again.
 */
export class AuthorityKeeper implements Runnable {
  readonly name = "authority";
  readonly #options: AuthorityKeeperOptions;
  readonly #scope: ObjectScope;
  readonly #queue: WorkQueue<string>;
  /** What the Secret held when it could last be read. */
  #known: Authorities = [];
  #appliedBundle: string | undefined;

  constructor(options: AuthorityKeeperOptions) {
    const { clock, logger } = options.context;
    this.#options = options;
    this.#scope = { type: secretType, namespace: options.namespace, name: authoritySecretName };
    this.#queue = new WorkQueue({
      name: this.name,
      work: (_key, signal) => this.#keep(signal),
      backoff: { firstMs: 1_000, capMs: 60_000 },
      clock,
      onError: (key, error, retryMs) =>
        logger.warn({ error, retryMs, secret: key }, "the operator's authority can't be kept"),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    this.look();
    return this.#queue.run(signal);
  }

  /** To be called when the Secret has changed. */
  look(): void {
    this.#queue.add(authoritySecretName);
  }

  /** To be called when all who verify our certificates have been given this bundle. */
  bundleApplied(bundle: string): void {
    this.#appliedBundle = bundle;
    this.look();
  }

  async #keep(signal: AbortSignal): Promise<WorkResult> {
    const { clock, logger, metrics } = this.#options.context;
    const secret = await this.#read(signal);
    const stored = this.#authoritiesOf(secret);
    const view: AuthorityView = {
      nowMs: clock.now(),
      appliedBundle: this.#appliedBundle,
      create: (validity) => {
        metrics.issued("authority");
        return createAuthority(validity);
      },
    };
    const authorities = nextAuthorities(stored ?? authoritiesAfterLoss(this.#known, view.nowMs), view);
    if (authorities !== stored) {
      await this.#write(secret, authorities, signal);
      logger.info(
        { authorities: authorities.map(describeAuthority) },
        "the operator's authorities have changed",
      );
    }
    this.#known = authorities;
    metrics.notAfter("authority", authorities.at(-1)?.validToMs ?? 0);
    const dueMs = Math.max(0, authoritiesDueMs(authorities) - clock.now());
    return { requeueAfterMs: Math.min(dueMs, longestWaitMs) };
  }

  #read(signal: AbortSignal): Promise<SecretObject | undefined> {
    return unlessNotFound(this.#options.client.get(this.#scope, signal));
  }

  /** Undefined if there is none, or it holds something else. */
  #authoritiesOf(secret: SecretObject | undefined): Authorities | undefined {
    if (secret === undefined) return undefined;
    try {
      return authoritiesOfSecret(secret);
    } catch (error) {
      const { logger } = this.#options.context;
      logger.warn({ error, secret: authoritySecretName }, "the Secret can't be read: it is made anew");
      return undefined;
    }
  }

  async #write(
    before: SecretObject | undefined,
    authorities: Authorities,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, namespace } = this.#options;
    const data = secretDataOf(authorities);
    if (before !== undefined) {
      await client.update(this.#scope, { ...before, data: { ...before.data, ...data } }, signal);
      return;
    }
    const metadata = { name: authoritySecretName, namespace };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
    await client.create({ type: secretType, namespace }, secret, signal);
  }
}

/** Without its key. */
function describeAuthority({ validToMs, trustedMs, retiredMs }: Authorities[number]): object {
  const state = retiredMs !== undefined ? "retired" : trustedMs !== undefined ? "trusted" : "new";
  return { state, validTo: new Date(validToMs).toISOString() };
}
