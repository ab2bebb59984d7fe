import type { Snapshot } from "../snapshot/snapshot.js";

/** A published version, as the history keeps it. */
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
 * The published versions of a topic that a subscriber may still be at, with their times: the status page shows since when
 * a subscriber has been behind, and at which version. At most 16 versions, some 3 KB; two while all subscribers follow.
 */
export class VersionHistory {
  #versions: PublishedVersion[] = [];

  /** @param held digests that subscribers still have because they refused newer ones; given if all others have converged */
  add(
    { sequence, digest, version, publishedMs }: VersionedSnapshot,
    held?: ReadonlyMap<string, number>,
  ): void {
    const { generation, resourceVersion } = version;
    const last = this.#versions.at(-1);
    let kept = this.#versions;
    if (held !== undefined) kept = kept.filter((one) => one === last || held.has(one.digest));
    // Every other one is dropped: the oldest stays, however many edits a subscriber misses.
    if (kept.length >= maxVersions) kept = kept.filter((_, index) => index % 2 === 0);
    this.#versions = [...kept, { sequence, digest, generation, resourceVersion, publishedMs }];
  }

  /** Publication time of the first version after this one; a later time if that version was dropped. */
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
