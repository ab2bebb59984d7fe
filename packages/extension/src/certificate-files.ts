import { readFileSync } from "node:fs";

/** A certificate and its key, as servers of TLS take them. */
export interface ServedCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** How often the files are read again. Kubernetes exchanges those of a Secret a minute after it has changed. */
const followMs = 30_000;

/** A certificate in files that are exchanged before it ends. */
export class CertificateFiles {
  readonly #files: { readonly certFile: string; readonly keyFile: string };
  readonly #report: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #last: ServedCertificate | undefined;

  constructor(
    files: { readonly certFile: string; readonly keyFile: string },
    report: (error: unknown) => void,
  ) {
    this.#files = files;
    this.#report = report;
  }

  read(): ServedCertificate {
    const { certFile, keyFile } = this.#files;
    this.#last = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    return this.#last;
  }

  /** Calls `use` for each pair that differs from the last one. One that can't be read or used is reported, and the last one stays. */
  follow(use: (pair: ServedCertificate) => void): void {
    this.#timer = setInterval(() => this.check(use), followMs);
    this.#timer.unref();
  }

  /** Looks at the files once. */
  check(use: (pair: ServedCertificate) => void): void {
    const last = this.#last;
    try {
      const pair = this.read();
      if (last === undefined || !last.cert.equals(pair.cert) || !last.key.equals(pair.key)) use(pair);
    } catch (error) {
      this.#last = last;
      this.#report(error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
