import { Signal } from "@bunting/runtime";
import type { HealthSource } from "./health-service.js";

/** Answers gRPC health checks with the readiness of /readyz: the same for the whole server ("") and for each named service. */
export class ReadinessHealth implements HealthSource {
  readonly #readiness: () => { readonly isReady: boolean };
  readonly #services: ReadonlySet<string>;
  readonly #changed = new Signal();

  constructor(readiness: () => { readonly isReady: boolean }, services: Iterable<string> = []) {
    this.#readiness = readiness;
    this.#services = new Set(["", ...services]);
  }

  statusOf(service: string): "SERVING" | "NOT_SERVING" | undefined {
    if (!this.#services.has(service)) return undefined;
    return this.#readiness().isReady ? "SERVING" : "NOT_SERVING";
  }

  services(): Iterable<string> {
    return this.#services;
  }

  onChange(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  /** To be called after each possible change of readiness. */
  changed(): void {
    this.#changed.emit();
  }
}
