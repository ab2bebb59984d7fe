import { Signal, type Clock, type Readiness } from "@bunting/runtime";
import type { FlagSource } from "../source/flag-source.js";

export interface ProxyReadinessOptions {
  readonly source: Pick<FlagSource, "hasSynced" | "hasCopies" | "onSynced">;
  readonly clock: Clock;
  /** True while new clients of the sync port are refused. */
  readonly refusesNew?: () => boolean;
}

/** Time after listening for which the proxy waits for its source before it is ready without it. */
const syncTimeoutMs = 10_000;

/**
 * Whether the proxy may receive traffic: once it listens, and its source has synced, has copies to serve meanwhile, or has had 10 s to do so
 * (subscribers are then held, which is better than refused). After that only draining makes it unready: an outage behind the source must not take the proxy, and with
 * it every agent's connection, out of service.
 */
export class ProxyReadiness {
  /** `check` may have another result, so that watchers can be notified. */
  readonly changed = new Signal();
  readonly #options: ProxyReadinessOptions;
  #listeningSinceMs: number | undefined;
  #cancelTimeout: (() => void) | undefined;
  #wasReady = false;
  #isDraining = false;

  constructor(options: ProxyReadinessOptions) {
    this.#options = options;
    options.source.onSynced(() => this.#settled());
  }

  /** To be called when the port of the sync services accepts connections. */
  listening(): void {
    const { source, clock } = this.#options;
    this.#listeningSinceMs ??= clock.monotonicMs();
    if (!source.hasSynced) this.#cancelTimeout ??= clock.after(syncTimeoutMs, () => this.#settled());
    this.changed.emit();
  }

  /** To be called when the proxy starts to shut down; it still serves for a while. */
  draining(): void {
    this.#isDraining = true;
    this.#settled();
  }

  /** True if a load balancer may send clients here. */
  get wasReady(): boolean {
    this.check();
    return this.#wasReady;
  }

  check(): Readiness {
    if (this.#isDraining) return { isReady: false, reason: "draining: the proxy is shutting down" };
    if (this.#listeningSinceMs === undefined) return { isReady: false, reason: "not listening yet" };
    const { source, clock, refusesNew } = this.#options;
    const waitedMs = clock.monotonicMs() - this.#listeningSinceMs;
    const { hasSynced } = source;
    const hasCopies = !hasSynced && source.hasCopies === true;
    this.#wasReady ||= hasSynced || hasCopies || waitedMs >= syncTimeoutMs;
    if (!this.#wasReady)
      return { isReady: false, reason: "waiting for the source to be read for the first time" };
    const remarks = [
      ...(hasSynced
        ? []
        : [`${hasCopies ? "flags may be stale: " : ""}the source has not been read for the first time yet`]),
      ...(refusesNew?.() === true ? ["new clients are refused: --peer-memory is used up"] : []),
    ];
    return { isReady: true, reason: ["ready", ...remarks].join(", but ") };
  }

  /** The source has synced, has used up its time, or no longer matters. */
  #settled(): void {
    this.#cancelTimeout?.();
    this.changed.emit();
  }
}
