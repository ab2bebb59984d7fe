import type { Clock } from "@bunting/runtime";
import { confirmAfterMs } from "../reflector/confirm-after.js";
import type { Epoch } from "../reflector/epochs.js";
import { ObjectOrder } from "../reflector/object-order.js";
import type { KubeObject } from "../rest/resource.js";

/**
 * The relation of a reported version to the accepted one:
 *
 * - `older`: older than the accepted version; it proves nothing.
 * - `known`: the version that was accepted last.
 * - `sameSpec`: newer, with the same spec; labels, annotations or status have changed.
 * - `changed`: newer, or of a new epoch.
 */
export type OfferVerdict = "older" | "known" | "sameSpec" | "changed";

/**
 * The meaning of an object's absence from a consistent read:
 *
 * - `older`: the read is older than the accepted version; it proves nothing.
 * - `unconfirmed`: the object existed, and seems gone. Another read has to confirm that.
 * - `deleted`: the object existed, and a read that began late enough has confirmed its absence.
 * - `absent`: the object did not exist before either.
 */
export type AbsenceVerdict = "older" | "unconfirmed" | "deleted" | "absent";

interface TrackedVersion {
  readonly epoch: Epoch;
  readonly uid: string | undefined;
  readonly generation: number;
}

/**
 * Judges reports about one object from any number of streams, in any order: its own watch, its namespace's, and reads.
 *
 * Invariants:
 * - The order of resourceVersions within an epoch decides what is new. A version is accepted once, and a deletion counts as a
 *   version, so that no late event brings a deleted object back.
 * - A deletion counts only when a read confirms it that began some seconds after the object first seemed gone: while a CRD is
 *   removed and comes back, its objects look deleted.
 * - The spec is the same only if a live event has the same uid and generation. The generation of a read proves nothing: after
 *   a restore of etcd it may come again with another spec.
 */
export class ObjectTracker {
  readonly #clock: Clock;
  readonly #order = new ObjectOrder();
  #existence: "unknown" | "exists" | "absent" = "unknown";
  /** The version that was accepted last, unless it was found deleted since. */
  #version: TrackedVersion | undefined;
  #goneSinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An object that seems gone exists until its deletion is confirmed. */
  get existence(): "unknown" | "exists" | "absent" {
    return this.#existence;
  }

  /** Time since which the object has seemed gone, in ms of the monotonic clock; undefined if it does not. */
  get goneSinceMs(): number | undefined {
    return this.#goneSinceMs;
  }

  /** The newest version that was reported in this epoch, deletions included. */
  resourceVersionIn(epoch: Epoch): string | undefined {
    return this.#order.resourceVersionIn(epoch);
  }

  /**
   * Judges a version that a stream or a read reported.
   *
   * @param isLive true for an event, false for the result of a read
   */
  offer(object: KubeObject, resourceVersion: string, epoch: Epoch, isLive: boolean): OfferVerdict {
    if (!this.#order.accept(epoch, resourceVersion)) {
      if (this.#existence !== "exists" || !this.#order.isAt(epoch, resourceVersion)) return "older";
      this.#goneSinceMs = undefined;
      return "known";
    }
    this.#goneSinceMs = undefined;
    this.#existence = "exists";
    const { uid, generation = 0 } = object.metadata;
    const before = this.#version;
    this.#version = { epoch, uid, generation };
    const isSameSpec =
      isLive &&
      before?.epoch === epoch &&
      uid !== undefined &&
      before.uid === uid &&
      generation > 0 &&
      before.generation === generation;
    return isSameSpec ? "sameSpec" : "changed";
  }

  /** Judges a reported deletion. Returns true if the object begins to seem gone: the caller has to read it again later. */
  gone(resourceVersion: string, epoch: Epoch): boolean {
    return this.#order.accept(epoch, resourceVersion) && this.#seemsGone();
  }

  /** A consistent read, begun at `readStartedMs` of the monotonic clock, did not find it. */
  absent(resourceVersion: string, epoch: Epoch, readStartedMs: number): AbsenceVerdict {
    if (!this.#order.accept(epoch, resourceVersion) && !this.#order.isAt(epoch, resourceVersion))
      return "older";
    if (this.#existence !== "exists") {
      this.#existence = "absent";
      return "absent";
    }
    this.#seemsGone();
    if (readStartedMs - (this.#goneSinceMs ?? readStartedMs) < confirmAfterMs) return "unconfirmed";
    this.#goneSinceMs = undefined;
    this.#version = undefined;
    this.#existence = "absent";
    return "deleted";
  }

  #seemsGone(): boolean {
    if (this.#existence !== "exists" || this.#goneSinceMs !== undefined) return false;
    this.#goneSinceMs = this.#clock.monotonicMs();
    return true;
  }
}
