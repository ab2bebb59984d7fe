import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { systemClock, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { CredentialHeaders, Credentials, TlsMaterial, TlsMaterialSource } from "./cluster-config.js";
import { sameHeaders } from "./credentials.js";

interface Applied {
  readonly headers: CredentialHeaders;
  readonly cert: TlsMaterial["cert"];
  readonly key: TlsMaterial["key"];
}

const maxAgeMs = 60_000;

/**
 * Credentials that client-node gets for us: exec plugins (`aws eks get-token`, …) and the auth providers of old kubeconfigs (oidc, gcp,
 * azure). They are read once a minute, when client-node runs a plugin only if its last credential has expired; and at once after a 401,
 * with a new KubeConfig that has cached nothing. A plugin whose credentials name no expiry therefore runs once a minute.
 */
export class PluginCredentials implements Credentials, TlsMaterialSource {
  readonly #fresh: () => KubeConfig;
  readonly #base: TlsMaterialSource;
  readonly #clock: Clock;
  #config: KubeConfig;
  #applied: Applied | undefined;
  #appliedAtMs = 0;
  #applying: Promise<Applied> | undefined;
  #material: { base: TlsMaterial; cert: TlsMaterial["cert"]; whole: TlsMaterial } | undefined;

  constructor(fresh: () => KubeConfig, base: TlsMaterialSource, clock: Clock = systemClock) {
    this.#fresh = fresh;
    this.#base = base;
    this.#clock = clock;
    this.#config = fresh();
  }

  async headers(): Promise<CredentialHeaders> {
    return (await this.#current()).headers;
  }

  async renew(refused: CredentialHeaders): Promise<boolean> {
    if (this.#applied !== undefined && !sameHeaders(this.#applied.headers, refused)) return true;
    if (this.#applying === undefined) this.#config = this.#fresh();
    return !sameHeaders((await this.#apply()).headers, refused);
  }

  /** The material of the kubeconfig, with the plugin's client certificate if it returns one. */
  async read(): Promise<TlsMaterial> {
    const base = await this.#base.read();
    const { cert, key } = await this.#current();
    if (cert === undefined || key === undefined) return base;
    if (this.#material?.base !== base || this.#material.cert !== cert) {
      this.#material = { base, cert, whole: { ...base, cert, key } };
    }
    return this.#material.whole;
  }

  #current(): Promise<Applied> {
    const isFresh = this.#clock.monotonicMs() - this.#appliedAtMs < maxAgeMs;
    return this.#applied !== undefined && isFresh ? Promise.resolve(this.#applied) : this.#apply();
  }

  #apply(): Promise<Applied> {
    this.#applying ??= this.#ask().finally(() => (this.#applying = undefined));
    return this.#applying;
  }

  async #ask(): Promise<Applied> {
    const options: RequestOptions = {};
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (cause) {
      const said = cause instanceof Error ? cause.message.trim() : String(cause);
      throw new KubeError(
        "CONFIG_INVALID",
        `the kubeconfig's credential plugin failed: ${said}; run kubectl with this kubeconfig to see the details`,
        { cause },
      );
    }
    const headers = headersOf(options);
    const { cert, key } = options as { cert?: TlsMaterial["cert"]; key?: TlsMaterial["key"] };
    this.#applied = { headers, cert, key };
    this.#appliedAtMs = this.#clock.monotonicMs();
    return this.#applied;
  }
}

function headersOf(options: RequestOptions): CredentialHeaders {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") headers[name.toLowerCase()] = value;
  }
  return headers;
}
