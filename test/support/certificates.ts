import { createCA, createCert, type Certificate } from "mkcert";

/** A certificate authority for one test file; making one takes about a second. */
export class Authority {
  readonly #ca: Certificate;

  private constructor(ca: Certificate) {
    this.#ca = ca;
  }

  static async create(): Promise<Authority> {
    const names = { organization: "Bunting tests", countryCode: "NO", state: "Test", locality: "Test" };
    return new Authority(await createCA({ ...names, validity: 2 }));
  }

  /** Its own certificate, in PEM. */
  get cert(): string {
    return this.#ca.cert;
  }

  /** A certificate with its key, in PEM, for a server or a client on this machine. */
  async issue(): Promise<Certificate> {
    return createCert({ ca: this.#ca, domains: ["127.0.0.1", "localhost"], validity: 2 });
  }
}
