import type { Lease } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import type { Ownership } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

/**
 * The topics that have one owner: those of a namespace, or of the whole cluster if there is one watch for all. One replica
 * owns a unit by its lease and watches for all replicas, so that only its plan of watches (objects, namespaces, the
 * cluster) is in force.
 */
export class OwnershipUnit implements Ownership {
  /** Also the name of the lease. */
  readonly name: string;
  readonly topics = new Map<TopicKey, ReplicatedTopic>();
  /** Time from which on this replica is the preferred owner. */
  preferredSinceMs: number | undefined;
  /** All its watches are opened before the lease is asked for. */
  isPrewarming = false;
  /** Its watches can't read anything, but another replica may be able to: no lease is wanted until this time. */
  cannotReadUntilMs: number | undefined;
  isHandingOver = false;
  #lease: Lease | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  get isOwned(): boolean {
    return this.#lease !== undefined;
  }

  get hasSubscribers(): boolean {
    for (const topic of this.topics.values()) if (topic.hasSubscribers) return true;
    return false;
  }

  /** The watches of all wanted topics have reported. */
  get isPrewarmed(): boolean {
    for (const topic of this.topics.values()) if (!topic.isIdle && !topic.isCurrent) return false;
    return true;
  }

  /** None of its watches can follow changes. */
  get cannotRead(): boolean {
    let isWatched = false;
    for (const topic of this.topics.values()) {
      if (!topic.isWatched) continue;
      if (!topic.cannotRead) return false;
      isWatched = true;
    }
    return isWatched;
  }

  /** Takes a lease, or continues without one. */
  setLease(lease: Lease | undefined): void {
    const wasHeld = this.isOwned;
    this.#lease = lease;
    this.isPrewarming = false;
    this.isHandingOver = false;
    if (wasHeld && lease === undefined)
      for (const topic of this.topics.values()) topic.invalidateConfirmation();
    this.settle();
  }

  settle(): void {
    for (const topic of [...this.topics.values()]) topic.settle();
  }
}
