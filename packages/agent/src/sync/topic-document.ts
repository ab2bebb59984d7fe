import {
  type Delta,
  type DocumentVersion,
  type MergedDraft,
  type ReplicaHolder,
  type ReplicaVersion,
  type SnapshotMessage,
  type VersionOutcome,
  versionOfDigest,
} from "@bunting/sync-client/messages";
import type { DocumentIndex } from "../document/document-index.js";
import type { Slice } from "../document/slice.js";
import type { CurrentDocument } from "./current-document.js";
import { digestDocument, hashFlags } from "./flag-hashes.js";
import { mergeDelta } from "./merge-delta.js";
import type { DocumentReceiver } from "./sync-source.js";

type TopicReceiver = Pick<DocumentReceiver, "currentDocument" | "confirm" | "deliver">;

/** The document that stands for a deleted topic with the deletion policy `empty`. */
const emptyDocument = Buffer.from('{"flags":{}}');

/** A document with the version that the agent reports to the proxy as its own. */
export type NamedDocument = CurrentDocument & ReplicaVersion;

/**
 * The agent's document for one topic, as text with the places of its flags. It outlives streams.
 *
 * The document belongs to the store and is not copied. The hashes of its flags are computed when they are first needed, so never, if no flag
 * is edited.
 */
export class TopicDocument implements ReplicaHolder<NamedDocument> {
  readonly #sourceIndex: number;
  readonly #receiver: TopicReceiver;
  /** `hashes` is undefined if the document has no digest. */
  #hashed: { readonly bytes: Buffer; readonly hashes: Buffer | undefined } | undefined;

  constructor(sourceIndex: number, receiver: TopicReceiver) {
    this.#sourceIndex = sourceIndex;
    this.#receiver = receiver;
  }

  get current(): NamedDocument | undefined {
    const current = this.#receiver.currentDocument(this.#sourceIndex);
    const version = current && (current.version ?? this.#computeVersion(current.layout));
    return current && version && { ...current, version };
  }

  confirm({ rejectedFlags }: NamedDocument, version: DocumentVersion): VersionOutcome {
    const known = this.#receiver.currentDocument(this.#sourceIndex)?.version;
    if (known?.encoded.equals(version.encoded) !== true) this.#receiver.confirm(this.#sourceIndex, version);
    return { rejectedFlags };
  }

  replace({ document, version }: SnapshotMessage): VersionOutcome {
    return this.#deliver(document, version);
  }

  merge({ layout }: NamedDocument, delta: Delta): MergedDraft | VersionOutcome {
    const hashes = this.#hashesOf(layout);
    if (hashes === undefined) return { mismatch: "the flags of the agent's document are not sorted by key" };
    const merged = mergeDelta(layout, hashes, delta);
    return {
      digest: merged.digest,
      take: () => {
        const outcome = this.#deliver(merged.bytes, delta.version);
        // The merged document is the store's current one, unless it was refused.
        if (!("refusal" in outcome)) this.#hashed = merged;
        return outcome;
      },
    };
  }

  /** Serves no flags, and deletes the last-known-good copy. */
  empty(): void {
    this.#receiver.deliver({ sourceIndex: this.#sourceIndex, bytes: emptyDocument, isDeletion: true });
  }

  #deliver(bytes: Buffer, version: DocumentVersion): VersionOutcome {
    return this.#receiver.deliver({ sourceIndex: this.#sourceIndex, bytes, version });
  }

  #hashesOf(layout: DocumentIndex): Buffer | undefined {
    if (this.#hashed?.bytes !== layout.bytes)
      this.#hashed = { bytes: layout.bytes, hashes: hashFlags(layout) };
    return this.#hashed.hashes;
  }

  /** For a document without a version: received over flagd.sync.v1. Equal documents have equal digests. */
  #computeVersion(layout: DocumentIndex): DocumentVersion | undefined {
    const hashes = this.#hashesOf(layout);
    if (hashes === undefined) return undefined;
    const { bytes, entries, metadata, evaluators } = layout;
    const part = (slice: Slice | undefined): Buffer | undefined =>
      slice && bytes.subarray(slice.start, slice.end);
    return versionOfDigest(
      digestDocument({
        ids: entries.ids,
        hashes,
        metadata: part(metadata),
        evaluators: part(evaluators),
      }),
    );
  }
}
