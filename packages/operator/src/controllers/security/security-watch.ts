import type { KubeObject, RunningInformer } from "@bunting/kube";
import { Signal, type Runnable } from "@bunting/runtime";
import { configMapType } from "../../api/core-types.js";
import {
  securityAccess,
  type PodAccess,
  type Security,
} from "../../desired/proxy-security/security-state.js";
import type { SecretWatchOptions } from "../../certificates/secret-watch.js";
import { readSecurity, securityConfigMapName } from "./stored-security.js";

const off: Security = { state: "off", sinceMs: 0 };

/** How far the proxy's security is, on each replica: what it gives to Pods is what the leader has written, and no option. */
export class SecurityWatch implements Runnable {
  readonly name = "proxy security";
  readonly #informer: RunningInformer<KubeObject, never>;
  readonly #changed = new Signal();
  readonly #context: SecretWatchOptions["context"];
  #security = off;

  constructor({ watches, namespace, context }: SecretWatchOptions) {
    this.#context = context;
    this.#informer = watches.inform(
      { type: configMapType, namespace, name: securityConfigMapName },
      { handler: { changed: (_key, object) => this.#read(object) } },
    );
  }

  /** What sidecars are given; undefined until it was read. */
  get podAccess(): PodAccess | undefined {
    return this.#informer.informer.hasSynced ? securityAccess[this.#security.state].pods : undefined;
  }

  get whenSynced(): Promise<void> {
    return this.#informer.informer.whenSynced;
  }

  /** Calls back when what sidecars are given has changed, until the returned function is called. */
  onChange(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  async readAgain(): Promise<void> {
    await this.#informer.readAgain();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  #read(object: KubeObject | undefined): void {
    // Who deletes it changes nothing: the leader writes it again.
    if (object === undefined) return;
    const security = readSecurity(object);
    if (security === undefined) {
      this.#context.logger.warn({ configMap: securityConfigMapName }, "the ConfigMap can't be read");
      return;
    }
    const before = securityAccess[this.#security.state].pods;
    this.#security = security;
    if (securityAccess[security.state].pods !== before) this.#changed.emit();
  }
}
