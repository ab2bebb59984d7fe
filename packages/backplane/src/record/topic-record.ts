import type { FlagDocument, PastVersion, TopicKey } from "@bunting/protocol";
import type { RecordPosition } from "./position.js";

/**
 * What a topic was, as the owner of its watch has read it.
 *
 * - document: the object exists, and this is its document.
 * - deleted: the object was deleted; the document is the last that it had.
 * - missing: a consistent read found no such object.
 */
export type TopicRecord = RecordPosition & {
  readonly topic: TopicKey;
  /** Whom the object is shared with by its annotation; absent if with nobody. */
  readonly readers?: readonly string[];
  /** What the owner does after a deletion; followers with another policy are configured differently. */
  readonly deletionPolicy?: "keep" | "empty" | "close";
} & (
    | {
        readonly kind: "document";
        readonly document: FlagDocument;
        /** The versions before it, as far as they are known; absent in what earlier releases wrote. */
        readonly history?: readonly PastVersion[];
        readonly uid?: string;
        readonly generation?: number;
      }
    | {
        readonly kind: "deleted";
        readonly document?: FlagDocument;
        readonly uid?: string;
        readonly generation?: number;
      }
    | {
        readonly kind: "missing";
        readonly document?: undefined;
        readonly uid?: undefined;
        readonly generation?: undefined;
      }
  );

/** A record with what Redis knows of it. Ages are of the clock of Redis alone, because those of replicas differ. */
export interface StoredRecord {
  readonly record: TopicRecord;
  /** The number of the lease under which it was written or confirmed last. */
  readonly fence: number;
  /** How long ago an owner wrote or confirmed it, in ms. */
  readonly confirmedAgoMs: number;
  /** How long it has been of this kind: for a deletion, since it was told. */
  readonly sinceAgoMs: number;
}
