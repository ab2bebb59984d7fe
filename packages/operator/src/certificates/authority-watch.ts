import type { ClusterWatches } from "@bunting/kube";
import { Signal, type Context, type Runnable } from "@bunting/runtime";
import {
  authoritiesOfSecret,
  authoritySecretName,
  secretType,
  type SecretObject,
} from "./authority-secret.js";
import type { Authorities } from "./authority.js";
import { bundleOf } from "./bundle.js";

export interface AuthorityWatchOptions {
  readonly watches: ClusterWatches;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly context: Pick<Context, "logger">;
}

/** The authorities as the Secret has them, on each replica. */
export class AuthorityWatch implements Runnable {
  readonly name = "watch of the authority";
  readonly #options: AuthorityWatchOptions;
  readonly #changes = new Signal<Authorities>();
  #authorities: Authorities = [];

  constructor(options: AuthorityWatchOptions) {
    this.#options = options;
  }

  /** Empty until the Secret was read, and when it is gone. */
  get authorities(): Authorities {
    return this.#authorities;
  }

  /** What those need who verify our certificates; undefined while there is nothing to verify by. */
  get bundle(): string | undefined {
    return this.#authorities.length === 0 ? undefined : bundleOf(this.#authorities);
  }

  /** Calls the listener with each change from now on. */
  onChange(listener: (authorities: Authorities) => void): void {
    this.#changes.listen(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    const { watches, namespace } = this.#options;
    const scope = { type: secretType, namespace, name: authoritySecretName };
    const handler = { changed: (_key: string, secret: SecretObject | undefined) => this.#read(secret) };
    return watches.inform<SecretObject>(scope, { handler }).run(signal);
  }

  #read(secret: SecretObject | undefined): void {
    try {
      this.#authorities = secret === undefined ? [] : authoritiesOfSecret(secret);
    } catch (error) {
      // The leader makes it anew.
      this.#options.context.logger.warn({ error, secret: authoritySecretName }, "the Secret can't be read");
      this.#authorities = [];
    }
    this.#changes.emit(this.#authorities);
  }
}
