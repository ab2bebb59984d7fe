export { KubeError, type KubeErrorCode, type KubeErrorOptions } from "./kube-error.js";
export type { KubeClient, ObjectList, Query } from "./rest/kube-client.js";
export type { KubeObject, ObjectMeta, ResourceScope, ResourceType } from "./rest/resource.js";
export type { KubeRequest, KubeResponse, KubeTransport } from "./transport/kube-transport.js";
export { Epochs, type Epoch } from "./reflector/epochs.js";
export { ObjectOrder } from "./reflector/object-order.js";
export { OpeningGate } from "./reflector/opening-gate.js";
export { Reflector, type ReflectorOptions, type ReflectorShared } from "./reflector/reflector.js";
export type {
  ConsistentRead,
  ReflectorHandler,
  ReflectorMetrics,
  RelistReason,
} from "./reflector/reflector-handler.js";
export type { ObjectEvent } from "./reflector/watch-event.js";
export { WatchListSupport } from "./reflector/watch-list-support.js";
export { inClusterConfig, isInCluster } from "./config/in-cluster.js";
export { loadClusterConfig, type LoadClusterConfigOptions } from "./config/load-cluster-config.js";
export {
  RestClient,
  type ApplyOptions,
  type ObjectScope,
  type PatchType,
  type RawRequest,
  type RestClientOptions,
  type WriteOptions,
} from "./rest/rest-client.js";
export { errorOfStatus, statusError, type ErrorAnswer } from "./rest/status-error.js";
export { Http2Transport } from "./transport/http2-transport.js";
export type {
  ClusterConfig,
  CredentialHeaders,
  Credentials,
  TlsMaterial,
  TlsMaterialSource,
} from "./config/cluster-config.js";
export { kubeconfigConfig, type KubeconfigOptions } from "./config/kubeconfig.js";
export type {
  SessionEnd,
  TransportListener,
  TransportOptions,
  TransportTiming,
} from "./transport/transport-options.js";
export { compareResourceVersions } from "./reflector/resource-version.js";
