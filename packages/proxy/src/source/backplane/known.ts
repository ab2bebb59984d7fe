import {
  comparePositions,
  epochsAfterFence,
  type RecordPosition,
  type StoredRecord,
  type TopicRecord,
} from "@bunting/backplane";
import type { FlagDocument, JsonObject, PastVersion, TopicKey } from "@bunting/protocol";
import type { SourceVersion } from "../flag-source.js";

/** The state of a topic as a watch of this replica reports it, without a position in the history that replicas share. */
export type WatchReport = { readonly version: SourceVersion } & (
  | {
      readonly kind: "document";
      readonly document: FlagDocument;
      readonly provider?: JsonObject | undefined;
    }
  | { readonly kind: "deleted" | "missing"; readonly document?: undefined; readonly provider?: undefined }
);

/** The state of a topic, with its position in that history. */
export type Known = WatchReport &
  RecordPosition & {
    /** The versions before the document, as far as known. */
    readonly history?: readonly PastVersion[] | undefined;
  };

/**
 * Position of a watch's report in the history, after `before`. Undefined if the report contradicts `before`, because its
 * version is older or was deleted: the watch lags behind, or the store of the API server was restored.
 *
 * A deletion has no resourceVersion of its own here; it gets that of the last document plus one. This is not later than
 * the deletion, and earlier than any document after it, so all replicas compute the same position from different events.
 */
export function place(report: WatchReport, before: Known | undefined, openEpoch: number): Known | undefined {
  const { resourceVersion = "0" } = report.version;
  if (before === undefined) return { ...report, epoch: openEpoch, resourceVersion };
  const { epoch } = before;
  if (report.kind !== "document") {
    if (before.kind !== "document") return { ...before, version: report.version };
    return { ...report, kind: "deleted", epoch, resourceVersion: afterVersion(before.resourceVersion) };
  }
  const at: Known = { ...report, epoch, resourceVersion };
  const order = comparePositions(at, before);
  return order > 0 || (order === 0 && before.kind === "document") ? at : undefined;
}

/**
 * True if another replica's record is of a later epoch but of an older version. Either the store of the API server was
 * restored, or Redis was emptied and an owner whose watch lags behind has begun an epoch.
 */
export function contradicts(written: Known, known: Known): boolean {
  return written.epoch > known.epoch && comparePositions({ ...written, epoch: known.epoch }, known) < 0;
}

/**
 * True if an owner confirmed our version in a later epoch. Without Redis each replica begins an epoch whenever a read
 * contradicts its state, so epochs differ. A follower must continue in the owner's epoch, or it would watch for ever.
 */
export function isSameInEarlierEpoch(position: RecordPosition, known: Known): boolean {
  return position.epoch < known.epoch && position.resourceVersion === known.resourceVersion;
}

/**
 * Position of a consistent read's report: it is true even if it contradicts `before` or the record in Redis.
 *
 * @param contradiction the record in Redis that contradicts `before`, if there is one
 */
export function placeRead(
  report: WatchReport,
  before: Known | undefined,
  openEpoch: number,
  contradiction: Known | undefined,
): Known {
  const read = place(report, before, openEpoch) ?? placeAnew(report, before, openEpoch);
  return placeAfter(read, contradiction);
}

/** The report in a new epoch, later than `before` although its version is older. */
function placeAnew(report: WatchReport, before: Known | undefined, openEpoch: number): Known {
  const { resourceVersion = "0" } = report.version;
  return { ...report, epoch: Math.max(openEpoch, (before?.epoch ?? 0) + 1), resourceVersion };
}

/**
 * The report in the epoch of the record in Redis, if that record has a later epoch but an older version. Its writer may
 * be gone: without this, an owner would find the same contradiction for ever, and could write nothing.
 */
function placeAfter(read: Known, written: Known | undefined): Known {
  return written !== undefined && contradicts(written, read) ? { ...read, epoch: written.epoch } : read;
}

/**
 * True if no owner can have begun the epoch, because the last fencing number is far lower: what answered in place of Redis made
 * it up, or Redis has lost its numbers and its time. Followers refuse records of such an epoch.
 */
export function isMadeUp({ epoch }: RecordPosition, fence: number): boolean {
  return epoch > fence + epochsAfterFence;
}

export function knownOf({ record }: StoredRecord, noticedMs: number): Known {
  const { epoch, resourceVersion, readers } = record;
  const at = { epoch, resourceVersion };
  if (record.kind !== "document") return { ...at, kind: record.kind, version: { noticedMs } };
  const { kind, document, history, provider, uid, generation } = record;
  const version: SourceVersion = {
    ...{ noticedMs, resourceVersion, ...identityOf(uid, generation) },
    // Without a list, as from earlier releases, this replica's own watch says whom it is shared with.
    ...(readers === undefined ? {} : { readers: new Set(readers) }),
    ...(record.trial === undefined ? {} : { trial: record.trial }),
  };
  return { ...at, kind, document, version, history, provider };
}

export function storedRecordOf(topic: TopicKey, known: Known): TopicRecord {
  const { epoch, resourceVersion, version } = known;
  const at = { topic, epoch, resourceVersion };
  if (known.kind !== "document") return { ...at, kind: known.kind };
  const { uid, generation, readers, trial } = version;
  return {
    ...{ ...at, kind: known.kind, document: known.document, ...identityOf(uid, generation) },
    ...(known.history === undefined ? {} : { history: known.history }),
    ...(known.provider === undefined ? {} : { provider: known.provider }),
    ...(readers === undefined ? {} : { readers: [...readers] }),
    ...(trial === undefined ? {} : { trial }),
  };
}

function identityOf(uid: string | undefined, generation: number | undefined) {
  return { ...(uid === undefined ? {} : { uid }), ...(generation === undefined ? {} : { generation }) };
}

function afterVersion(resourceVersion: string): string {
  return String(BigInt(resourceVersion) + 1n);
}
