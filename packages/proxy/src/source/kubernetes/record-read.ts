import { compareResourceVersions, type ConsistentRead, type Epochs, type KubeObject } from "@bunting/kube";
import { topicKey, type TopicKey } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";

/** The records a watch or read reports to, as of now. */
export interface Audience {
  all(): Iterable<FlagRecord>;
  find(topic: TopicKey): FlagRecord | undefined;
}

export interface RecordReadOptions {
  readonly audience: Audience;
  readonly epochs: Epochs;
  readonly clock: Clock;
  /** Called with each record that the read covered, once it is complete, before the record learns what it found. */
  readonly onCovered?: (record: FlagRecord) => void;
  readonly onComplete?: (readStartedMs: number) => void;
}

export function beginRecordRead(options: RecordReadOptions): ConsistentRead {
  const { audience, epochs, clock, onCovered, onComplete } = options;
  const epoch = epochs.current;
  const startedMs = clock.monotonicMs();
  // A record that comes while the read is under way may have missed its object: the read says nothing about it.
  const covered = new Map<FlagRecord, string | undefined>();
  for (const record of audience.all()) covered.set(record, record.resourceVersionIn(epoch));
  const found = new Set<FlagRecord>();
  return {
    // Passed on at once, not kept: what is newer than everything known is true even if the read fails later.
    add: (object, resourceVersion) => {
      const record = recordOf(audience, object);
      if (record === undefined) return;
      found.add(record);
      const known = covered.get(record);
      const isOlder = known !== undefined && compareResourceVersions(resourceVersion, known) < 0;
      if (isOlder) epochs.cut(epoch);
      record.offer(object, resourceVersion, epoch, false);
    },
    remove: (object) => {
      const record = recordOf(audience, object);
      if (record !== undefined) found.delete(record);
    },
    complete: (resourceVersion, readEpoch) => {
      for (const record of covered.keys()) {
        if (audience.find(record.topic) !== record) continue;
        onCovered?.(record);
        if (!found.has(record)) record.absent(resourceVersion, readEpoch, startedMs);
        // A read that opens a new epoch was still compared with the old one; everything is read once more.
        if (readEpoch === epoch) record.wasRead(startedMs);
      }
      onComplete?.(startedMs);
    },
  };
}

export function recordOf(audience: Audience, { metadata }: KubeObject): FlagRecord | undefined {
  const { namespace } = metadata;
  return namespace === undefined ? undefined : audience.find(topicKey(namespace, metadata.name));
}
