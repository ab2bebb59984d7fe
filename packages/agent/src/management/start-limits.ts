import type { Clock, Component } from "@bunting/runtime";
import type { AwaitedSources } from "../sync/awaited-sources.js";
import { shownUri } from "../sync/shown-uri.js";

/**
 * How long sources that do not answer may hold up what Kubernetes decides by probes: it starts the containers of the application once /healthz of
 * a sidecar answers, and sends them traffic once the agent is ready. So applications start with flags, and a proxy that is away delays them
 * without blocking them.
 */
export class StartLimits {
  readonly awaitedSources: AwaitedSources;
  readonly #clock: Clock;
  readonly #startWaitMs: number;
  readonly #readyAfterMs: number;
  #startedMs: number | undefined;

  /**
   * @param options.startWaitMs how long /healthz waits for the sources; with 0 it does not
   * @param options.readyAfterMs after what time the agent is ready without their answers; with 0 it never is
   */
  constructor(options: {
    readonly awaitedSources: AwaitedSources;
    readonly startWaitMs: number;
    readonly readyAfterMs: number;
    readonly clock: Clock;
  }) {
    this.awaitedSources = options.awaitedSources;
    this.#startWaitMs = options.startWaitMs;
    this.#readyAfterMs = options.readyAfterMs;
    this.#clock = options.clock;
  }

  /** Why /healthz does not answer yet; undefined once it does. */
  notStarted(): string | undefined {
    if (this.awaitedSources.isComplete || this.#elapsedMs() >= this.#startWaitMs) return undefined;
    return `starting: waiting for the first flags of ${this.awaited()}, for ${this.#startWaitMs / 1_000} s at most`;
  }

  /** Why the agent is ready although sources have not answered; undefined if it waits for them, or has their answers. */
  readyWithout(): string | undefined {
    if (this.awaitedSources.isComplete || this.#readyAfterMs === 0) return undefined;
    if (this.#elapsedMs() < this.#readyAfterMs) return undefined;
    return `ready, but without the first flags of ${this.awaited()}, which did not come within ${this.#readyAfterMs / 1_000} s of the start`;
  }

  /** The sources that have not answered, as they may be shown. */
  awaited(): string {
    return Array.from(this.awaitedSources.awaited(), ([, uri]) => shownUri(uri)).join(", ");
  }

  /** Measures from its start on, and calls back when `readyWithout` may have begun to say something. */
  component(onReadyWithout: () => void): Component {
    let cancel = (): void => undefined;
    return {
      name: "start-limits",
      reason: "first: what is waited for at the start is waited for from here on",
      start: () => {
        this.#startedMs = this.#clock.monotonicMs();
        if (this.#readyAfterMs > 0 && !this.awaitedSources.isComplete)
          cancel = this.#clock.after(this.#readyAfterMs, () => {
            if (!this.awaitedSources.isComplete) onReadyWithout();
          });
      },
      stop: () => cancel(),
    };
  }

  #elapsedMs(): number {
    return this.#startedMs === undefined ? 0 : this.#clock.monotonicMs() - this.#startedMs;
  }
}
