import type { PastVersion } from "@bunting/protocol";

/** The canonical text of one flag and its hash. An unchanged flag keeps its object from one version to the next. */
export interface EncodedFlag {
  readonly text: string;
  /** SHA-256 of the text's bytes, in hex. */
  readonly hash: string;
}

/** The encoded parts of a document. */
export interface EncodedContent {
  /** By flag key, in the order of the document. */
  readonly flags: ReadonlyMap<string, EncodedFlag>;
  /** Canonical JSON; undefined if there is none. */
  readonly metadata: string | undefined;
  readonly evaluators: string | undefined;
}

/** The bytes of a document, made once by `encodeSnapshot`, and what they were made of. */
export interface SnapshotBytes extends EncodedContent {
  /** A complete gRPC frame of flagd.sync.v1 SyncFlagsResponse. Shared by all streams: must not be modified. */
  readonly syncFrame: Buffer;
  /** Offset and length of the document's JSON in the frame. */
  readonly textStart: number;
  readonly textLength: number;
  /** SHA-256 in hex: equal documents have equal digests, and bytes. */
  readonly digest: string;
  /** The last versions before it, the oldest first: what a delta can start from. */
  readonly history: readonly PastVersion[];
}
