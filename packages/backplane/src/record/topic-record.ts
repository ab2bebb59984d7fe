import type { FlagDocument, JsonObject, PastVersion, TopicKey } from "@bunting/protocol";
import type { RecordPosition } from "./position.js";

/**
 * The state of a topic, as the owner of its watch has read it.
 *
 * - document: the object exists, and this is its document.
 * - deleted: the object was deleted.
 * - missing: a consistent read found no such object.
 */
export type TopicRecord = RecordPosition & {
  readonly topic: TopicKey;
  /** Readers that the object's annotation shares it with; absent without any. */
  readonly readers?: readonly string[];
} & (
    | {
        readonly kind: "document";
        readonly document: FlagDocument;
        /** Earlier versions, as far as they are known; absent in records of earlier releases. */
        readonly history?: readonly PastVersion[];
        /** `spec.remoteFlagProvider` of the object; absent without one, and in records of earlier releases. */
        readonly provider?: JsonObject;
        readonly uid?: string;
        readonly generation?: number;
        /** A newer document, which only some agents are to have yet; absent without one, and in records of earlier releases. */
        readonly trial?: RecordedTrial;
      }
    | { readonly kind: "deleted" | "missing"; readonly document?: undefined }
  );

/** A version that is pushed progressively. */
export interface RecordedTrial {
  readonly document: FlagDocument;
  readonly digest: string;
  readonly generation?: number;
  /** Agents with a lower bucket are to have it. */
  readonly reach: number;
}

/** A record with its metadata in Redis. Ages are by the clock of Redis alone, because the clocks of replicas differ. */
export interface StoredRecord {
  readonly record: TopicRecord;
  /** The fencing number of the lease under which the record was written or confirmed last. */
  readonly fence: number;
  /** Time since an owner wrote or confirmed the record, in ms. */
  readonly confirmedAgoMs: number;
}
