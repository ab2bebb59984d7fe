import { readSmallFile, shareInFlight, systemClock, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { CredentialHeaders, Credentials } from "./cluster-config.js";
import { bearer, sameHeaders } from "./credentials.js";

const maxAgeMs = 60_000;
const maxFileBytes = 64 * 1024;

/**
 * A bearer token in a file that is renewed by others (the kubelet, at 80 % of its lifetime). It is read again after a minute, and at once
 * after a 401. While the file can't be read the last token stays in use: it is most likely still valid.
 */
export class ClusterTokenFile implements Credentials {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #further: CredentialHeaders;
  #headers: CredentialHeaders | undefined;
  #readAtMs = 0;
  readonly #readOnce = shareInFlight(() => this.#read());

  /** `further`: headers in addition to the token, for instance the user to impersonate. */
  constructor(path: string, clock: Clock = systemClock, further: CredentialHeaders = {}) {
    this.#path = path;
    this.#clock = clock;
    this.#further = further;
  }

  headers(): Promise<CredentialHeaders> {
    const isFresh = this.#clock.monotonicMs() - this.#readAtMs < maxAgeMs;
    if (this.#headers !== undefined && isFresh) return Promise.resolve(this.#headers);
    return this.#readOnce();
  }

  async renew(refused: CredentialHeaders): Promise<boolean> {
    if (this.#headers !== undefined && !sameHeaders(this.#headers, refused)) return true;
    return !sameHeaders(await this.#readOnce(), refused);
  }

  async #read(): Promise<CredentialHeaders> {
    let token = "";
    let cause: unknown;
    try {
      token = (await readSmallFile(this.#path, maxFileBytes)).toString().trim();
    } catch (error) {
      cause = error;
    }
    if (token !== "") {
      const headers = { ...this.#further, ...bearer(token) };
      if (this.#headers === undefined || !sameHeaders(headers, this.#headers)) this.#headers = headers;
      this.#readAtMs = this.#clock.monotonicMs();
    }
    if (this.#headers !== undefined) return this.#headers;
    throw KubeError.configInvalid(
      `the token file ${this.#path} ${cause === undefined ? "is empty" : "can't be read"}: mount a ServiceAccount token there (is automountServiceAccountToken off?)`,
      { cause },
    );
  }
}
