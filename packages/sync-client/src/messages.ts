// The messages of bunting.sync.v1 without a connection: nothing here loads grpc-js.
export {
  type AnsweredMessage,
  type Deleted,
  type Delta,
  type DeltaFlag,
  type DocumentVersion,
  type FreshnessMessage,
  type History,
  type Missing,
  type RejectedFlag,
  type SnapshotMessage,
  type StaleCause,
  type SyncResponse,
  type TierMessage,
  type TopicError,
  type Unchanged,
} from "./bunting-messages.js";
export { decodeSyncResponse, decodeVersion } from "./decode-sync-response.js";
export {
  encodeAck,
  encodeHello,
  encodeNack,
  encodeSubscribe,
  encodeUnsubscribe,
  versionOfDigest,
} from "./encode-sync-request.js";
export { causeOf } from "./failure-cause.js";
export { asBuffer, MalformedMessageError, readFields } from "./message-fields.js";
