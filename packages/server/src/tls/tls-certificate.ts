import { createPrivateKey, type X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { messageOf, WatchedFiles, type ReloadOptions } from "@bunting/runtime";
import { certificatesInPem, validToMs } from "./certificates-in-pem.js";
import { readPem } from "./read-pem.js";

export interface TlsCertificateOptions extends ReloadOptions {
  /** A file with the server's certificate in PEM, followed by those of intermediate authorities. */
  readonly certPath: string;
  /** A file with its private key in PEM. */
  readonly keyPath: string;
  /** The options that set them, for instance `--server-cert-path`; named in errors. */
  readonly certOption: string;
  readonly keyOption: string;
}

/** In PEM. */
export interface CertificatePair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** When the first certificate of the chain to expire does, in milliseconds since 1970. */
  readonly validToMs: number;
}

/** The certificate and private key of ports with TLS. */
export class TlsCertificate {
  readonly #options: TlsCertificateOptions;
  readonly #files: WatchedFiles<LoadedPair>;
  readonly #listeners: ((pair: CertificatePair) => void)[] = [];

  constructor(options: TlsCertificateOptions) {
    this.#options = options;
    this.#files = new WatchedFiles({
      ...options,
      paths: [options.certPath, options.keyPath],
      name: "certificate",
      effect: "new connections get it",
      fields: { certPath: options.certPath },
      read: () => this.#read(),
      use: (pair) => this.#use(pair),
      summarize: ({ leaf: { serialNumber, validTo } }) => ({ serialNumber, validTo }),
    });
  }

  /** The listener is called with each pair that is to be used from now on. */
  onPair(listener: (pair: CertificatePair) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the files, and looks for changes until `stop`. Rejects with a message that tells the user what to do if they can't be used. */
  start(): Promise<void> {
    return this.#files.start();
  }

  stop(): void {
    this.#files.stop();
  }

  #use(pair: LoadedPair): void {
    const { certPath, logger } = this.#options;
    if (pair.validToMs < Date.now())
      logger.warn(
        { certPath, validTo: new Date(pair.validToMs).toISOString() },
        "the certificate, or one of its chain, has expired: clients will refuse it",
      );
    for (const listener of this.#listeners) listener(pair);
  }

  async #read(): Promise<LoadedPair> {
    const { certPath, keyPath, certOption, keyOption } = this.#options;
    const cert = await readPem(certPath, "certificate", certOption);
    const key = await readPem(keyPath, "private key", keyOption);
    const chain = attempt(
      () => certificatesInPem(cert),
      (error) =>
        `${certPath} has no certificate in PEM, or part of one (${messageOf(error)}): name a file that has one with ${certOption}`,
    );
    const [leaf] = chain;
    if (leaf === undefined)
      throw new Error(`${certPath} has no certificate in PEM: name a file that has one with ${certOption}`);
    const privateKey = attempt(
      () => createPrivateKey(key),
      () =>
        `${keyPath} has no private key in PEM, or one with a password: name a file that has one, without a password, with ${keyOption}`,
    );
    if (!leaf.checkPrivateKey(privateKey))
      throw new Error(
        `the private key ${keyPath} is not that of the certificate ${certPath}: name a pair with ${certOption} and ${keyOption}`,
      );
    attempt(
      () => createSecureContext({ cert, key }),
      (error) =>
        `the certificate ${certPath} can't be used (${messageOf(error)}): name another with ${certOption}`,
    );
    return { cert, key, leaf, validToMs: Math.min(...chain.map(validToMs)) };
  }
}

interface LoadedPair extends CertificatePair {
  readonly leaf: X509Certificate;
}

function attempt<Value>(make: () => Value, describe: (error: unknown) => string): Value {
  try {
    return make();
  } catch (cause) {
    throw new Error(describe(cause), { cause });
  }
}
