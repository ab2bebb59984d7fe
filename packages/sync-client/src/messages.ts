// The messages of bunting.sync.v1 without a connection: nothing here loads grpc-js.
export {
  type Deleted,
  type Delta,
  type DeltaFlag,
  type DocumentVersion,
  type FreshnessMessage,
  type History,
  type SnapshotMessage,
  type SourceFlagsMessage,
  type SourceList,
  type StaleCause,
  type SyncResponse,
  type TrialMessage,
  type TopicError,
  type VersionMessage,
  syncPath,
} from "./bunting-messages.js";
export { decodeSyncResponse, decodeVersion } from "./decode-sync-response.js";
export { encodeHello, encodeSubscribe, encodeUnsubscribe, versionOfDigest } from "./encode-sync-request.js";
export { causeOf } from "./failure-cause.js";
export {
  TopicReplica,
  type MergedDraft,
  type ReplicaHolder,
  type ReplicaVersion,
  type VersionOutcome,
} from "./topic-replica.js";
export { versionFields, type VersionFields } from "./version-fields.js";
