import { systemClock, type Clock } from "@bunting/runtime";
import type { CredentialHeaders, Credentials, TlsMaterial, TlsMaterialSource } from "./cluster-config.js";
import { sameHeaders } from "./credentials.js";

/** The credentials that a plugin returned. */
export interface AppliedCredential {
  readonly headers: CredentialHeaders;
  readonly cert: TlsMaterial["cert"];
  readonly key: TlsMaterial["key"];
  /** Milliseconds since the epoch; undefined if it names no expiry. */
  readonly expiresMs: number | undefined;
}

/**
 * `isRefused`: the last credential was answered with 401, so that nothing cached will do. It must end within a limited time, and at once
 * when the signal aborts.
 */
export type ReadCredential = (isRefused: boolean, signal: AbortSignal) => Promise<AppliedCredential>;

const maxAgeMs = 60_000;

/**
 * Credentials that a program or another server has: exec plugins and auth providers. They are read again once they have expired, or after
 * a minute if they name no expiry; and at once after a 401. All requests wait for one reading.
 */
export class PluginCredentials implements Credentials, TlsMaterialSource {
  readonly #read: ReadCredential;
  readonly #base: TlsMaterialSource;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #applied: AppliedCredential | undefined;
  #appliedAtMs = 0;
  #applying: Promise<AppliedCredential> | undefined;
  #material: { base: TlsMaterial; cert: TlsMaterial["cert"]; whole: TlsMaterial } | undefined;

  constructor(read: ReadCredential, base: TlsMaterialSource, clock: Clock = systemClock) {
    this.#read = read;
    this.#base = base;
    this.#clock = clock;
  }

  async headers(): Promise<CredentialHeaders> {
    return (await this.#current()).headers;
  }

  async renew(refused: CredentialHeaders): Promise<boolean> {
    if (this.#applied !== undefined && !sameHeaders(this.#applied.headers, refused)) return true;
    return !sameHeaders((await this.#apply(true)).headers, refused);
  }

  close(): void {
    this.#closing.abort();
  }

  /** The material of the kubeconfig, with the plugin's client certificate if it returns one. */
  async read(): Promise<TlsMaterial> {
    const base = await this.#base.read();
    const { cert, key } = await this.#current();
    if (cert === undefined || key === undefined) return base;
    if (this.#material?.base !== base || this.#material.cert !== cert)
      this.#material = { base, cert, whole: { ...base, cert, key } };
    return this.#material.whole;
  }

  #current(): Promise<AppliedCredential> {
    const applied = this.#applied;
    const isYoung = this.#clock.monotonicMs() - this.#appliedAtMs < maxAgeMs;
    const isFresh = isYoung || (applied?.expiresMs ?? 0) > this.#clock.now();
    return applied !== undefined && isFresh ? Promise.resolve(applied) : this.#apply(false);
  }

  #apply(isRefused: boolean): Promise<AppliedCredential> {
    this.#applying ??= this.#ask(isRefused).finally(() => (this.#applying = undefined));
    return this.#applying;
  }

  async #ask(isRefused: boolean): Promise<AppliedCredential> {
    this.#applied = await this.#read(isRefused, this.#closing.signal);
    this.#appliedAtMs = this.#clock.monotonicMs();
    return this.#applied;
  }
}
