import type { Readiness } from "@bunting/runtime";

/** Something that has to have happened before the operator is ready. */
export interface Precondition {
  /** Completes "waiting for …", as long as it is not met. */
  readonly what: () => string;
  readonly isMet: () => boolean;
}

/**
 * Whether the API server may call this replica's webhooks: once all preconditions were met. It stays so, whatever breaks later, until the
 * process stops: an API server that is away must not make replicas unready, which would take the webhooks with them.
 */
export class OperatorReadiness {
  readonly #preconditions: readonly Precondition[];
  readonly #remarks: () => readonly string[];
  #wasReady = false;
  #isStopping = false;

  /** @param remarks what users should know although the replica is ready; each completes "ready, but …" */
  constructor(preconditions: readonly Precondition[], remarks: () => readonly string[] = () => []) {
    this.#preconditions = preconditions;
    this.#remarks = remarks;
  }

  /** To be called when the process begins to stop. */
  stopping(): void {
    this.#isStopping = true;
  }

  check(): Readiness {
    if (this.#isStopping) return { isReady: false, reason: "the operator is shutting down" };
    const unmet = this.#wasReady ? [] : this.#preconditions.filter(({ isMet }) => !isMet());
    if (unmet.length > 0)
      return { isReady: false, reason: `waiting for ${unmet.map(({ what }) => what()).join(", and for ")}` };
    this.#wasReady = true;
    return { isReady: true, reason: ["ready", ...this.#remarks()].join(", but ") };
  }
}
