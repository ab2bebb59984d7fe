import type { X509Certificate } from "node:crypto";
import { messageOf, WatchedFiles, type ReloadOptions } from "@bunting/runtime";
import { certificatesInPem, subjectOf, validFromMs, validToMs } from "./certificates-in-pem.js";
import { readPem } from "./read-pem.js";

export interface ClientAuthoritiesOptions extends ReloadOptions {
  /** A file with the certificates of all authorities whose clients are let in, in PEM. */
  readonly caPath: string;
  /** The option that sets it; named in errors. */
  readonly caOption: string;
}

export class ClientAuthorities {
  readonly #options: ClientAuthoritiesOptions;
  readonly #files: WatchedFiles<readonly X509Certificate[]>;
  readonly #listeners: ((authorities: ClientAuthorities) => void)[] = [];
  #certificates: readonly X509Certificate[] = [];
  #version = 0;
  #removalVersion = 0;

  constructor(options: ClientAuthoritiesOptions) {
    this.#options = options;
    this.#files = new WatchedFiles({
      ...options,
      paths: [options.caPath],
      name: "file of clients' authorities",
      effect: "new connections get it",
      fields: { caPath: options.caPath },
      read: () => this.#read(),
      use: (certificates) => {
        const now = new Set(certificates.map(({ fingerprint256 }) => fingerprint256));
        const isRemoved = !this.#certificates.every(({ fingerprint256 }) => now.has(fingerprint256));
        this.#certificates = certificates;
        this.#version++;
        if (isRemoved) this.#removalVersion = this.#version;
        for (const listener of this.#listeners) listener(this);
      },
      summarize: (certificates) => ({ authorities: certificates.map(subjectOf) }),
    });
  }

  /** The listener is called whenever other authorities are trusted from now on. */
  onChange(listener: (authorities: ClientAuthorities) => void): void {
    this.#listeners.push(listener);
  }

  /** Counts their changes. */
  get version(): number {
    return this.#version;
  }

  /** The last version that lacks an authority of the version before; 0 if none does. */
  get removalVersion(): number {
    return this.#removalVersion;
  }

  get pem(): string[] {
    return this.#certificates.map(String);
  }

  /** When the first of them expires, in milliseconds since 1970. */
  get validToMs(): number {
    return Math.min(...this.#certificates.map(validToMs));
  }

  /** Reads the file, and looks for changes until `stop`. Rejects with a message that tells the user what to do if it can't be used. */
  start(): Promise<void> {
    return this.#files.start();
  }

  stop(): void {
    this.#files.stop();
  }

  /**
   * True if one of the authorities has issued the certificate, or has certified an authority that has. `intermediates` are those that the client
   * has presented. OpenSSL has verified the certificate at the handshake: this says whether that would still have an end.
   */
  haveIssued(
    certificate: X509Certificate,
    intermediates: readonly X509Certificate[],
    nowMs = Date.now(),
  ): boolean {
    const candidates = new Set(
      [...this.#certificates, ...intermediates].filter(
        (one) => one.ca && validFromMs(one) <= nowMs && nowMs < validToMs(one),
      ),
    );
    // Each is looked at once: what a client presents may go in circles.
    const open = [certificate];
    for (let issued = open.pop(); issued !== undefined; issued = open.pop())
      for (const issuer of candidates) {
        if (!hasIssued(issuer, issued)) continue;
        if (this.#certificates.includes(issuer) && hasIssued(issuer, issuer)) return true;
        candidates.delete(issuer);
        open.push(issuer);
      }
    return false;
  }

  async #read(): Promise<readonly X509Certificate[]> {
    const { caPath, caOption } = this.#options;
    const pem = await readPem(caPath, "file of clients' authorities", caOption);
    if (pem.includes("-----BEGIN X509 CRL-----"))
      throw new Error(
        `${caPath} has a revocation list, which nobody would look at: take it out of the file that ${caOption} names, and use certificates that are valid for hours or days`,
      );
    let certificates: X509Certificate[];
    try {
      certificates = certificatesInPem(pem);
    } catch (cause) {
      throw new Error(
        `${caPath} can't be used (${messageOf(cause)}): name a file of certificates in PEM with ${caOption}`,
        { cause },
      );
    }
    if (certificates.length === 0)
      throw new Error(`${caPath} has no certificate in PEM: name a file that has one with ${caOption}`);
    const other = certificates.find(({ ca }) => !ca);
    if (other !== undefined)
      throw new Error(
        `${caPath} has a certificate that is not of an authority (${subjectOf(other).replaceAll("\n", ", ")}): name a file of authorities only with ${caOption}`,
      );
    return certificates;
  }
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
