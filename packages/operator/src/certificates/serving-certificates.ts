import { aborted, readPemFile, Signal, WatchedFiles, type Context, type Runnable } from "@bunting/runtime";
import { TlsCertificate, type TlsMetrics } from "@bunting/server";
import type { ClusterWatches, RestClient } from "@bunting/kube";
import { AuthorityKeeper } from "./authority-keeper.js";
import { authoritySecret } from "./authority-secret.js";
import { bundleOf } from "./bundle.js";
import type { CertificateMetrics } from "./certificate-metrics.js";
import type { CertificateSource } from "./certificate-source.js";
import { LeafHolder } from "./leaf-holder.js";
import { SecretWatch } from "./secret-watch.js";

/** Where the certificate of admission comes from. */
export type CertificateWay =
  /** The operator's own authority. */
  | { readonly kind: "own"; readonly dnsNames: readonly string[] }
  /** Files, such as those of a mounted Secret. Without `caPath` somebody else gives the API server the authority's certificate, as cert-manager does. */
  | { readonly kind: "files"; readonly certPath: string; readonly keyPath: string; readonly caPath?: string };

export interface CertificateParts {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  readonly watches: ClusterWatches;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Context<CertificateMetrics & { readonly tls: Pick<TlsMetrics, "reload"> }>;
}

/** The certificates by which API servers verify this server. */
export interface BundleSource {
  /** PEM; undefined while there are none. */
  readonly bundle: string | undefined;
  onChange(listener: () => void): void;
}

/** The certificate of this replica, and what belongs to it. */
export interface ServingCertificates {
  readonly source: CertificateSource;
  /** Undefined: others see to it. */
  readonly bundle: BundleSource | undefined;
  /** Runs on each replica. */
  readonly runnables: readonly Runnable[];
  /** Runs on the leader; undefined where there is no authority of our own. */
  readonly keeper: AuthorityKeeper | undefined;
}

/** The parts of the chosen way; they run in the order of `runnables`. */
export function servingCertificates(way: CertificateWay, parts: CertificateParts): ServingCertificates {
  return way.kind === "own" ? ownCertificates(way.dnsNames, parts) : certificatesOfFiles(way, parts);
}

function ownCertificates(dnsNames: readonly string[], parts: CertificateParts): ServingCertificates {
  const { client, watches, namespace, context } = parts;
  const watch = new SecretWatch(authoritySecret, { watches, namespace, context });
  const leaf = new LeafHolder({ authorities: watch, dnsNames, context });
  const keeper = new AuthorityKeeper({ client, namespace, context });
  watch.onChange(() => keeper.look());
  const bundle: BundleSource = {
    get bundle() {
      return watch.items.length === 0 ? undefined : bundleOf(watch.items);
    },
    onChange: (listener) => watch.onChange(listener),
  };
  return { source: leaf, bundle, runnables: [watch, leaf], keeper };
}

function certificatesOfFiles(
  { certPath, keyPath, caPath }: Extract<CertificateWay, { readonly kind: "files" }>,
  { context }: CertificateParts,
): ServingCertificates {
  const { clock, logger, metrics } = context;
  const reload = {
    logger,
    clock,
    onReload: (isUsed: boolean) => metrics.tls.reload("certificate", isUsed ? "used" : "refused"),
  };
  const options = { certOption: "--webhook-cert-name", keyOption: "--webhook-cert-key" };
  const certificate = new TlsCertificate({ certPath, keyPath, ...options, ...reload });
  certificate.onPair(({ validToMs }) => metrics.notAfter("leaf", validToMs));
  const bundle = caPath === undefined ? undefined : new BundleFile(caPath, { logger, clock });
  return {
    source: certificate,
    bundle,
    runnables: [whileRunning("certificate files", certificate), ...(bundle === undefined ? [] : [bundle])],
    keeper: undefined,
  };
}

/** The certificates of authorities in a file. */
class BundleFile implements Runnable, BundleSource {
  readonly name = "authority file";
  readonly #files: WatchedFiles<Buffer>;
  readonly #changes = new Signal();
  bundle: string | undefined;

  constructor(path: string, context: Pick<CertificateParts["context"], "logger" | "clock">) {
    this.#files = new WatchedFiles<Buffer>({
      ...context,
      paths: [path],
      name: "authority's certificate",
      effect: "API servers are told of it",
      fields: { path },
      read: () => readPemFile(path, "certificate", maxBundleBytes),
      use: (pem) => {
        this.bundle = pem.toString("latin1");
        this.#changes.emit();
      },
      summarize: (pem) => ({ bytes: pem.length }),
    });
  }

  onChange(listener: () => void): void {
    this.#changes.listen(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    return whileRunning(this.name, this.#files).run(signal);
  }
}

const maxBundleBytes = 256 * 1024;

function whileRunning(name: string, part: { start(): Promise<void>; stop(): void }): Runnable {
  return {
    name,
    run: async (signal) => {
      await part.start();
      await aborted(signal);
      part.stop();
    },
  };
}
