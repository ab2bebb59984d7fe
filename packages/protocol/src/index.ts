export type { AgentsOfAddress, AgentsOfTopic, TrialCounts } from "./agent-report.js";
export { boundedBytes } from "./bounded-bytes.js";
export { responseTo } from "./response-to.js";
export { canonicalJson, compareUtf8 } from "./canonical-json.js";
export { maxDocumentDepth, unservable } from "./document-depth.js";
export { DocumentDigest, digestBytes } from "./document-digest.js";
export { digestingDocument } from "./digesting-document.js";
export { documentHeapBytes } from "./document-heap.js";
export { heapWeights } from "./heap-weights.js";
export { documentOfFeatureFlag, featureFlagType, remoteProviderOf } from "./feature-flag.js";
export {
  emptyFlagDocument,
  encodeDocument,
  isDocumentation,
  normaliseDocument,
  normalising,
  normalisingWritten,
  readDocument,
  type DocumentWarning,
  type FlagDocument,
  type WrittenDocument,
  type RefusedFlag,
} from "./flag-document.js";
export { withReferences } from "./with-references.js";
export { emptiedBy, withEarlierFlags, withRefusedFlags } from "./with-refused-flags.js";
export { sortedObject } from "./sorted-object.js";
export { atOnce, flagsPerStep, isStep, type DocumentWork } from "./work.js";
export { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
export {
  boundedHistory,
  historyFromJson,
  historyHeapBytes,
  historyLength,
  historyToJson,
  maxHistoryBytes,
  maxHistoryKeys,
  type PastVersion,
} from "./past-version.js";
export { ProtocolError } from "./protocol-error.js";
export { quoted } from "./quoted.js";
export { ReplicaDocument, type DocumentDelta } from "./replica-document.js";
export { parseReaders, readersAnnotation, readersOfMetadata, type Readers } from "./readers.js";
export {
  isFileTopicName,
  isNamespaceName,
  isObjectName,
  isTopicKey,
  parsePrefixedSelector,
  parseAnySelector,
  topicOf,
  parseTopicSelector,
  topicKey,
  type TopicKey,
} from "./topic-selector.js";
export { sourceListDigest, type CompiledSourceList } from "./source-list-digest.js";
export { fileDescriptorSetBase64 } from "./gen/descriptors.js";
export * as buntingSyncV1 from "./gen/bunting/sync/v1/sync.js";
export * as syncV1 from "./gen/flagd/sync/v1/sync.js";
export * as legacySyncV1 from "./gen/sync/v1/sync_service.js";
export * as evaluationV1 from "./gen/flagd/evaluation/v1/evaluation.js";
export * as evaluationV2 from "./gen/flagd/evaluation/v2/evaluation.js";
export * as schemaV1 from "./gen/schema/v1/schema.js";
export * as healthV1 from "./gen/grpc/health/v1/health.js";
export * as reflectionV1 from "./gen/grpc/reflection/v1/reflection.js";
