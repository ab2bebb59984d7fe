import {
  comparePositions,
  type RecordPosition,
  type StoredRecord,
  type TopicRecord,
} from "@bunting/backplane";
import type { FlagDocument, PastVersion, TopicKey } from "@bunting/protocol";
import type { SourceVersion } from "../flag-source.js";

/** What a topic is, as a watch of this replica says, without its place in the history that replicas share. */
export type Said = { readonly version: SourceVersion } & (
  | { readonly kind: "document"; readonly document: FlagDocument }
  | { readonly kind: "deleted" | "missing"; readonly document?: undefined }
);

/** What a topic is, and where that is in its history. */
export type Known = Said &
  RecordPosition & {
    /** The versions before a document, as far as they are known. */
    readonly history?: readonly PastVersion[] | undefined;
  };

/**
 * Where what a watch says is in the history, after what was known before; undefined if it contradicts that: an older version, or one that was
 * deleted. Then either the watch lags behind, or the store of the API server was restored.
 *
 * A deletion has no resourceVersion of its own here. The one after that of the last document is not later than that of the deletion, and
 * earlier than that of any document that comes after it: so all replicas come to the same place without having seen the same events.
 */
export function place(said: Said, before: Known | undefined, openEpoch: number): Known | undefined {
  const { resourceVersion = "0" } = said.version;
  if (before === undefined) return { ...said, epoch: openEpoch, resourceVersion };
  const { epoch } = before;
  if (said.kind !== "document") {
    if (before.kind !== "document") return { ...before, version: said.version };
    return { ...said, kind: "deleted", epoch, resourceVersion: afterVersion(before.resourceVersion) };
  }
  const at: Known = { ...said, epoch, resourceVersion };
  const order = comparePositions(at, before);
  return order > 0 || (order === 0 && before.kind === "document") ? at : undefined;
}

/**
 * True if what another replica has written is older than what is known, although it is of a later epoch: the store of the API server was restored,
 * or Redis was emptied, and an owner whose watch lags behind has begun again.
 */
export function contradicts(written: Known, known: Known): boolean {
  return written.epoch > known.epoch && comparePositions({ ...written, epoch: known.epoch }, known) < 0;
}

/**
 * Without Redis each replica begins an epoch of its own where a read contradicts what it knew, and not all as many. What one watches is what
 * the owner has confirmed: it goes on in the owner's epoch, or it would watch for ever.
 */
export function isSameInEarlierEpoch(position: RecordPosition, known: Known): boolean {
  return position.epoch < known.epoch && position.resourceVersion === known.resourceVersion;
}

/**
 * Where what a consistent read says is in the history, whatever was known, and whatever Redis holds that contradicts that.
 *
 * @param doubted what Redis holds
 */
export function placeRead(
  said: Said,
  before: Known | undefined,
  openEpoch: number,
  doubted: Known | undefined,
): Known {
  const read = place(said, before, openEpoch) ?? placeAnew(said, before, openEpoch);
  return placeAfter(read, doubted);
}

/** The same in an epoch of its own, after all that was known: what a consistent read has shown to be true although it contradicts that. */
function placeAnew(said: Said, before: Known | undefined, openEpoch: number): Known {
  const { resourceVersion = "0" } = said.version;
  return { ...said, epoch: Math.max(openEpoch, (before?.epoch ?? 0) + 1), resourceVersion };
}

/**
 * The same in the epoch of what Redis holds, if that is older although it is of a later epoch. Who has written it may be gone: without this, an
 * owner would find the same contradiction for ever, and could write nothing.
 */
function placeAfter(read: Known, written: Known | undefined): Known {
  return written !== undefined && contradicts(written, read) ? { ...read, epoch: written.epoch } : read;
}

export function knownOf({ record }: StoredRecord, noticedMs: number): Known {
  const { kind, epoch, resourceVersion, uid, generation } = record;
  const at = { epoch, resourceVersion };
  if (kind !== "document") return { ...at, kind, version: { noticedMs } };
  const version = { noticedMs, resourceVersion, ...identityOf(uid, generation) };
  return { ...at, kind, document: record.document, version, history: record.history };
}

export function storedRecordOf(topic: TopicKey, known: Known): TopicRecord {
  const { epoch, resourceVersion, version } = known;
  const at = { topic, epoch, resourceVersion };
  if (known.kind !== "document") return { ...at, kind: known.kind };
  const { uid, generation } = version;
  const history = known.history === undefined ? {} : { history: known.history };
  return { ...at, kind: known.kind, document: known.document, ...history, ...identityOf(uid, generation) };
}

function identityOf(uid: string | undefined, generation: number | undefined) {
  return { ...(uid === undefined ? {} : { uid }), ...(generation === undefined ? {} : { generation }) };
}

function afterVersion(resourceVersion: string): string {
  return String(BigInt(resourceVersion) + 1n);
}
