import type { CompiledSourceList, DocumentDelta, PastVersion } from "@bunting/protocol";

export const syncPath = "/bunting.sync.v1.SyncService/Sync";

/** The version of a topic, by which the agent and its proxy know that they mean the same document. */
export interface DocumentVersion {
  /** SHA-256 of the document; see docs/bunting-sync-v1.md. */
  readonly digest: Buffer;
  /** Of the FeatureFlag; absent if the proxy's source has none. */
  readonly resourceVersion?: string;
  /** The whole Version message as it came, to be sent back. */
  readonly encoded: Buffer;
}

export type DeltaFlag = DocumentDelta["flags"][number];

export interface Unchanged {
  readonly kind: "unchanged";
  readonly topic: string;
  readonly version: DocumentVersion;
}

export interface SnapshotMessage {
  readonly kind: "snapshot";
  readonly topic: string;
  readonly version: DocumentVersion;
  readonly document: Buffer;
}

/** Its flags come in the order of their keys, as UTF-8. */
export interface Delta extends DocumentDelta {
  readonly kind: "delta";
  readonly topic: string;
  readonly fromDigest: Buffer;
  readonly version: DocumentVersion;
}

/** A message that makes a version the current one. It is answered by an ack or a nack. */
export type VersionMessage = Unchanged | SnapshotMessage | Delta;

export interface Missing {
  readonly kind: "missing";
  readonly topic: string;
}

export interface Deleted {
  readonly kind: "deleted";
  readonly topic: string;
  /** A policy that this agent does not know counts as `keep`. */
  readonly policy: "keep" | "empty" | "close";
}

export interface TopicError {
  readonly kind: "topic_error";
  readonly topic: string;
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** 0 leaves it to the agent. */
  readonly retryAfterMs: number;
}

/** Sent to proxies only. */
export interface TierMessage {
  readonly kind: "tier";
  /** The proxy, and all that it is fed by. */
  readonly proxies: readonly string[];
  /** Number of proxies on the longest way. */
  readonly depth: number;
}

/** Sent to proxies, and to agents that say so in `hello`. */
export interface FreshnessMessage {
  readonly kind: "freshness";
  readonly topic: string;
  readonly isStale: boolean;
  readonly reason: string;
  /** Proxies of 0.1.0 do not say it. */
  readonly cause: StaleCause | undefined;
}

/** Why a source can't be followed. */
export type StaleCause = "unreachable" | "refused" | "misconfigured" | "invalid";

/** Sent to proxies only, before the version that it is about. */
export interface History {
  readonly kind: "history";
  readonly topic: string;
  /** Digest of the version that the delta leads to. */
  readonly digest: Buffer;
  /** The oldest first. Within the bounds of what may leave a process. */
  readonly versions: readonly PastVersion[];
}

/** Sent to proxies only. */
export interface TrialMessage {
  readonly kind: "trial";
  readonly topic: string;
  /** Empty: no version is tried any more. */
  readonly digest: Buffer;
  readonly generation: number;
  readonly reach: number;
  readonly document: Buffer;
}

/** Names what the operator has compiled of FeatureFlagSources for a Pod. */
export interface SourceList {
  /** Of the Pod. */
  readonly namespace: string;
  /** Of the annotation by which the Pod names the FeatureFlagSources. */
  readonly text: string;
  /** Of the list that the agent has, as `sourceListDigest` makes it. */
  readonly digest: string;
}

/** Sent to agents that ask for it in `hello`. */
export interface SourceFlagsMessage extends Pick<CompiledSourceList, "topics" | "frame"> {
  readonly kind: "source_flags";
}

/** `unknown` is a message that a later proxy may send. Documents share memory with the message. */
export type SyncResponse =
  | Unchanged
  | SnapshotMessage
  | Delta
  | Missing
  | Deleted
  | TopicError
  | TierMessage
  | FreshnessMessage
  | History
  | TrialMessage
  | SourceFlagsMessage
  | { readonly kind: "heartbeat" }
  | { readonly kind: "unknown" };

/** The message of the proxy that an answer is for. */
export interface AnsweredMessage {
  readonly topic: string;
  /** Its place among all messages of the stream; the first is 1. */
  readonly number: number;
}

/** A flag that an agent can't serve. */
export interface RejectedFlag {
  readonly key: string;
  readonly reason: string;
}
