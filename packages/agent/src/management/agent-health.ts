import type { HealthSource } from "@bunting/rpc";
import type { Readiness } from "@bunting/runtime";

/** Tells gRPC health on the management port what /readyz tells HTTP; like flagd's, it knows the server as a whole only. */
export class AgentHealth implements HealthSource {
  readonly #readiness: () => Readiness;
  readonly #listeners = new Set<() => void>();

  constructor(readiness: () => Readiness) {
    this.#readiness = readiness;
  }

  statusOf(service: string): "SERVING" | "NOT_SERVING" | undefined {
    if (service !== "") return undefined;
    return this.#readiness().isReady ? "SERVING" : "NOT_SERVING";
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** To be called whenever readiness may have changed. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
