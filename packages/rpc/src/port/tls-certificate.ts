import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { errorCode, systemClock, type Clock, type Logger } from "@bunting/runtime";

export interface TlsCertificateOptions {
  /** A file with the server's certificate in PEM, followed by those of intermediate authorities. */
  readonly certPath: string;
  /** A file with its private key in PEM. */
  readonly keyPath: string;
  /** The options that set them, for instance `--server-cert-path`; named in errors. */
  readonly certOption: string;
  readonly keyOption: string;
  /** How often the files are looked at; default 2 s. A pair that can't be used is reported after the second look. */
  readonly intervalMs?: number;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** In PEM. */
export interface CertificatePair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const defaultIntervalMs = 2_000;
/** Chains and keys take a few kilobytes. */
const maxFileBytes = 1024 * 1024;
/** A pair may be in the middle of being written at the first look. */
const looksBeforeWarning = 2;

/**
 * The certificate and private key of ports with TLS. Their files are read again when they change; those of a mounted Secret are replaced by a
 * link to another directory. A pair that can't be used, for instance because only one of the files was replaced, is refused, and the one before stays.
 */
export class TlsCertificate {
  readonly #options: TlsCertificateOptions;
  readonly #clock: Clock;
  readonly #listeners: ((pair: CertificatePair) => void)[] = [];
  #isRunning = false;
  #cancelNext: (() => void) | undefined;
  /** Of the files whose content is in use. */
  #stamp = "";
  #refused = { stamp: "", looks: 0 };

  constructor(options: TlsCertificateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The listener is called with each pair that is to be used from now on. */
  onPair(listener: (pair: CertificatePair) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the files, and looks for changes until `stop`. Rejects with a message that tells the user what to do if they can't be used. */
  async start(): Promise<void> {
    const stamp = await this.#readStamp();
    this.#use(await this.#readPair(), stamp);
    this.#isRunning = true;
    this.#awaitNext();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancelNext?.();
  }

  #awaitNext(): void {
    if (!this.#isRunning) return;
    this.#cancelNext = this.#clock.after(this.#options.intervalMs ?? defaultIntervalMs, () => {
      void this.#look().finally(() => this.#awaitNext());
    });
  }

  async #look(): Promise<void> {
    const { certPath, logger } = this.#options;
    const stamp = await this.#readStamp();
    const isRefused = stamp === this.#refused.stamp && this.#refused.looks >= looksBeforeWarning;
    if (stamp === this.#stamp || isRefused) return;
    try {
      const pair = await this.#readPair();
      // Or they are being replaced, and the next look takes them.
      if ((await this.#readStamp()) !== stamp) return;
      this.#use(pair, stamp);
      logger.info({ certPath, ...summary(pair) }, "the certificate has changed; new connections get it");
    } catch (error) {
      const looks = stamp === this.#refused.stamp ? this.#refused.looks + 1 : 1;
      this.#refused = { stamp, looks };
      if (looks < looksBeforeWarning) return;
      logger.warn(
        { certPath },
        `the changed certificate is refused, and the one before stays in use: ${messageOf(error)}`,
      );
    }
  }

  #use(pair: CertificatePair, stamp: string): void {
    for (const listener of this.#listeners) listener(pair);
    this.#stamp = stamp;
    this.#refused = { stamp: "", looks: 0 };
  }

  /** Changes whenever one of the files does. */
  async #readStamp(): Promise<string> {
    const { certPath, keyPath } = this.#options;
    const stamps = await Promise.all([stampOf(certPath), stampOf(keyPath)]);
    return stamps.join(" ");
  }

  async #readPair(): Promise<CertificatePair> {
    const { certPath, keyPath, certOption, keyOption } = this.#options;
    const cert = await readPem(certPath, "certificate", certOption);
    const key = await readPem(keyPath, "private key", keyOption);
    const certificate = attempt(
      () => new X509Certificate(cert),
      () => `${certPath} has no certificate in PEM: name a file that has one with ${certOption}`,
    );
    const privateKey = attempt(
      () => createPrivateKey(key),
      () =>
        `${keyPath} has no private key in PEM, or one with a password: name a file that has one, without a password, with ${keyOption}`,
    );
    if (!certificate.checkPrivateKey(privateKey))
      throw new Error(
        `the private key ${keyPath} is not that of the certificate ${certPath}: name a pair with ${certOption} and ${keyOption}`,
      );
    attempt(
      () => createSecureContext({ cert, key }),
      (error) =>
        `the certificate ${certPath} can't be used (${messageOf(error)}): name another with ${certOption}`,
    );
    return { cert, key };
  }
}

async function readPem(path: string, what: string, option: string): Promise<Buffer> {
  try {
    const stats = await stat(path);
    // Opening a FIFO would wait for its writer.
    if (!stats.isFile()) throw new Error("it is no regular file");
    if (stats.size > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes`);
    return await readFile(path);
  } catch (cause) {
    const reason = errorCode(cause) ?? messageOf(cause);
    throw new Error(
      `the ${what} ${path} can't be read (${reason}): name a file that this user may read with ${option}`,
      { cause },
    );
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    return errorCode(error) ?? "unreadable";
  }
}

function attempt<Value>(make: () => Value, describe: (error: unknown) => string): Value {
  try {
    return make();
  } catch (cause) {
    throw new Error(describe(cause), { cause });
  }
}

function summary({ cert }: CertificatePair): { readonly serialNumber: string; readonly validTo: string } {
  const { serialNumber, validTo } = new X509Certificate(cert);
  return { serialNumber, validTo };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
