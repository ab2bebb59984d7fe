import type { CertificatePair } from "@bunting/server";
import { Signal, WorkQueue, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import type { Authority } from "./authority.js";
import type { CertificateMetrics } from "./certificate-metrics.js";
import type { CertificateSource } from "./certificate-source.js";
import { issueLeaf } from "./issue-certificate.js";
import { leafDueMs, nextLeaf, type Leaf } from "./leaf.js";
import type { SecretWatch } from "./secret-watch.js";

export interface LeafHolderOptions {
  readonly authorities: Pick<SecretWatch<Authority>, "items" | "onChange">;
  /** DNS names by which API servers reach this replica. */
  readonly dnsNames: readonly string[];
  readonly context: Context<Pick<CertificateMetrics, "notAfter" | "issued">>;
}

/** The wall clock may be set: no wait is longer. */
const longestWaitMs = 600_000;

/** Holds the certificate of this replica's server: it is made here, by the operator's authority, and its key stays in memory. */
export class LeafHolder implements Runnable, CertificateSource {
  readonly name = "certificate";
  readonly #options: LeafHolderOptions;
  readonly #pairs = new Signal<CertificatePair>();
  readonly #queue: WorkQueue<"leaf">;
  #leaf: Leaf | undefined;

  constructor(options: LeafHolderOptions) {
    const { clock, logger } = options.context;
    this.#options = options;
    this.#queue = new WorkQueue({
      name: this.name,
      work: () => Promise.resolve(this.#look()),
      backoff: { firstMs: 1_000, capMs: 60_000 },
      clock,
      onError: (_key, error, retryMs) => logger.error({ error, retryMs }, "no certificate can be made"),
    });
    options.authorities.onChange(() => this.#queue.add("leaf"));
  }

  /** The listener is also called with the pair that there is already. */
  onPair(listener: (pair: CertificatePair) => void): void {
    this.#pairs.listen(listener);
    if (this.#leaf !== undefined) listener(pairOf(this.#leaf));
  }

  /** True once there is a certificate that has not expired. */
  get isValid(): boolean {
    return this.#leaf !== undefined && this.#options.context.clock.now() < this.#leaf.validToMs;
  }

  run(signal: AbortSignal): Promise<void> {
    this.#queue.add("leaf");
    return this.#queue.run(signal);
  }

  #look(): WorkResult {
    const { context, dnsNames, authorities: watch } = this.#options;
    const { clock, logger, metrics } = context;
    const nowMs = clock.now();
    const { items: authorities } = watch;
    const leaf = nextLeaf(authorities, this.#leaf, nowMs, (authority, validity) => {
      metrics.issued("leaf");
      return issueLeaf(authority, dnsNames, validity);
    });
    if (leaf !== undefined && leaf !== this.#leaf) {
      this.#leaf = leaf;
      metrics.notAfter("leaf", leaf.validToMs);
      this.#pairs.emit(pairOf(leaf));
      const validTo = new Date(leaf.validToMs).toISOString();
      logger.info({ validTo }, "there is a new certificate for admission");
    }
    return { requeueAfterMs: Math.min(leafDueMs(authorities, leaf, nowMs) - nowMs, longestWaitMs) };
  }
}

function pairOf({ cert, key, validToMs }: Leaf): CertificatePair {
  return { cert: Buffer.from(cert), key: Buffer.from(key), validToMs };
}
