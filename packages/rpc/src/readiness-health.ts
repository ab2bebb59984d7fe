import type { HealthSource } from "./health-service.js";

/** Tells gRPC health what /readyz tells HTTP: one answer for the server as a whole ("") and for each service named. */
export class ReadinessHealth implements HealthSource {
  readonly #readiness: () => { readonly isReady: boolean };
  readonly #services: ReadonlySet<string>;
  readonly #listeners = new Set<() => void>();

  constructor(readiness: () => { readonly isReady: boolean }, services: Iterable<string> = []) {
    this.#readiness = readiness;
    this.#services = new Set(["", ...services]);
  }

  statusOf(service: string): "SERVING" | "NOT_SERVING" | undefined {
    if (!this.#services.has(service)) return undefined;
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
