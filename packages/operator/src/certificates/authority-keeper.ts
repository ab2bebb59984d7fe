import type { RestClient } from "@bunting/kube";
import type { Context, Runnable } from "@bunting/runtime";
import { authoritySecret } from "./authority-secret.js";
import {
  authoritiesAfterLoss,
  authoritiesDueMs,
  nextAuthorities,
  type Authorities,
  type Authority,
} from "./authority.js";
import type { CertificateMetrics } from "./certificate-metrics.js";
import { createAuthority } from "./issue-certificate.js";
import type { SecretContent } from "./secret-content.js";
import { SecretKeeper } from "./secret-keeper.js";

export interface AuthorityKeeperOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Context<Pick<CertificateMetrics, "notAfter" | "issued">>;
  /** Which authorities these are; absent: those of the webhooks. */
  readonly of?: { readonly content: SecretContent<Authority>; readonly certificate: "proxy-authority" };
}

/** Makes the operator's authorities, renews them, and stores them in a Secret. Only the leader may run it. */
export class AuthorityKeeper implements Runnable {
  readonly name: string;
  readonly #options: AuthorityKeeperOptions;
  readonly #certificate: "authority" | "proxy-authority";
  readonly #keeper: SecretKeeper<Authority>;
  #appliedBundle: string | undefined;

  constructor(options: AuthorityKeeperOptions) {
    const { metrics } = options.context;
    const { content = authoritySecret, certificate = "authority" } = options.of ?? {};
    this.name = options.of === undefined ? "authority" : content.what;
    this.#options = options;
    this.#certificate = certificate;
    this.#keeper = new SecretKeeper({
      ...options,
      content,
      rules: {
        next: (stored, known) => this.#next(stored, known),
        dueMs: authoritiesDueMs,
        describe: describeAuthority,
        kept: (authorities) => metrics.notAfter(certificate, authorities.at(-1)?.validToMs ?? 0),
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

  /** To be called when all who verify our certificates have been given this bundle. */
  bundleApplied(bundle: string): void {
    this.#appliedBundle = bundle;
    this.look();
  }

  #next(stored: Authorities | undefined, known: Authorities): Authorities {
    const { clock, metrics } = this.#options.context;
    const nowMs = clock.now();
    return nextAuthorities(stored ?? authoritiesAfterLoss(known, nowMs), {
      nowMs,
      appliedBundle: this.#appliedBundle,
      create: (validity) => {
        metrics.issued(this.#certificate);
        return createAuthority(validity);
      },
    });
  }
}

/** Without its key. */
function describeAuthority({ validToMs, trustedMs, retiredMs }: Authority): object {
  const state = retiredMs !== undefined ? "retired" : trustedMs !== undefined ? "trusted" : "new";
  return { state, validTo: new Date(validToMs).toISOString() };
}
