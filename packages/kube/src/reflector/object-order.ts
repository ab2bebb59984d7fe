import type { Epoch } from "./epochs.js";
import { compareResourceVersions } from "./resource-version.js";

/**
 * The newest version of one object that was accepted, from whatever stream. It outlives the object (a tombstone), so that no late event
 * of another stream brings a deleted object back.
 */
export class ObjectOrder {
  #epoch: Epoch = 0;
  #resourceVersion = "";

  /** The last accepted version, or deletion, if it is of this epoch: versions of two epochs can't be compared. */
  resourceVersionIn(epoch: Epoch): string | undefined {
    return epoch === this.#epoch && this.#resourceVersion !== "" ? this.#resourceVersion : undefined;
  }

  /** Accepts the version if it is newer than all accepted ones. Returns true if it did. */
  accept(epoch: Epoch, resourceVersion: string): boolean {
    const order = this.#compare(epoch, resourceVersion);
    if (order > 0) {
      this.#epoch = epoch;
      this.#resourceVersion = resourceVersion;
    }
    return order > 0;
  }

  /** True if this is the version that was accepted last. */
  isAt(epoch: Epoch, resourceVersion: string): boolean {
    return this.#resourceVersion !== "" && this.#compare(epoch, resourceVersion) === 0;
  }

  #compare(epoch: Epoch, resourceVersion: string): number {
    if (epoch !== this.#epoch) return epoch - this.#epoch;
    return compareResourceVersions(resourceVersion, this.#resourceVersion);
  }
}
