import type { Lease } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import type { Ownership } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

/**
 * Topics that have one owner: those of a namespace, or all of them. One replica watches for all, so its plan of watches (objects, namespaces, the
 * cluster) is the only one.
 */
export class OwnershipUnit implements Ownership {
  /** Also the name of the lease. */
  readonly name: string;
  readonly topics = new Map<TopicKey, ReplicatedTopic>();
  /** Since when this replica is the one that should own it. */
  preferredSinceMs: number | undefined;
  /** It reads everything before it asks the owner for the lease. */
  isPrewarming = false;
  /** Its watches can't read anything: another replica may be able to. Until then it wants no lease. */
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

  /** Everything that is wanted of it is known. */
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

  /** Takes a lease, or goes on without one. */
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
