import type { Snapshot } from "../snapshot/snapshot.js";

/** What is remembered of a version that was published. */
export interface PublishedVersion {
  readonly sequence: number;
  readonly digest: string;
  readonly generation: number | undefined;
  readonly resourceVersion: string | undefined;
  /** On the monotonic clock. */
  readonly publishedMs: number;
}

export type VersionedSnapshot = Pick<Snapshot, "sequence" | "digest" | "version" | "publishedMs">;

const maxVersions = 16;

/**
 * Which versions a topic published and when, as far as a subscriber may still be at one of them: for the status page, which says since when a
 * subscriber has been behind, and which version that is. At most 16 versions, some 3 KB; a topic whose subscribers follow has two.
 */
export class VersionHistory {
  #versions: PublishedVersion[] = [];

  /** @param held if all subscribers have the version before: the digests that some still hold, because they refused a newer one */
  add(
    { sequence, digest, version, publishedMs }: VersionedSnapshot,
    held?: ReadonlyMap<string, number>,
  ): void {
    const { generation, resourceVersion } = version;
    const last = this.#versions.at(-1);
    let kept = this.#versions;
    if (held !== undefined) kept = kept.filter((one) => one === last || held.has(one.digest));
    // Every other one: the oldest stays, however many edits a subscriber misses.
    if (kept.length >= maxVersions) kept = kept.filter((_, index) => index % 2 === 0);
    this.#versions = [...kept, { sequence, digest, generation, resourceVersion, publishedMs }];
  }

  /** When the first version after this one was published, as far as it is remembered: a later time otherwise. */
  publishedAfterMs(sequence: number): number | undefined {
    return this.#versions.find((version) => version.sequence > sequence)?.publishedMs;
  }

  /** The newest version with this digest. */
  withDigest(digest: string): PublishedVersion | undefined {
    return this.#versions.findLast((version) => version.digest === digest);
  }

  withSequence(sequence: number): PublishedVersion | undefined {
    return this.#versions.find((version) => version.sequence === sequence);
  }
}
