export {
  connectCluster,
  type ConnectClusterOptions,
  type ConnectedCluster,
} from "./config/connect-cluster.js";
export { isInCluster } from "./config/in-cluster.js";
export { kubeconfigConfig } from "./config/kubeconfig.js";
export type { ClusterConfig } from "./config/cluster-config.js";
export { loadClusterConfig, type ClusterChoice } from "./config/load-cluster-config.js";
export { Discovery } from "./discovery/discovery.js";
export { EventRecorder, type EventDetails, type ObjectReference } from "./events/event-recorder.js";
export {
  ClusterWatches,
  type RunningInformer,
  type RunningReads,
  type RunningWatch,
  type WatchOptions,
} from "./informer/cluster-watches.js";
export { Informer, type InformerOptions } from "./informer/informer.js";
export { formatLabelSelector, type LabelSelector } from "./informer/label-selector.js";
export { ObjectTracker } from "./informer/object-tracker.js";
export { isKeyIn, keyOf, ObjectStore } from "./informer/object-store.js";
export { KubeError } from "./kube-error.js";
export { LeaderElection } from "./leader/leader-election.js";
export { setCondition, type Condition } from "./objects/conditions.js";
export {
  releaseFields,
  takeOverFields,
  type FieldSet,
  type JsonPatch,
  type ManagedFieldsEntry,
} from "./objects/managed-fields.js";
export { controllerOf, type OwnerReference } from "./objects/owner-reference.js";
export { forwardPort, type PodPort } from "./port-forward/forward-port.js";
export { confirmAfterMs } from "./reflector/confirm-after.js";
export { Epochs, type Epoch } from "./reflector/epochs.js";
export type { WatchRequest } from "./reflector/watch-admission.js";
export type { ConsistentRead, ReflectorHandler, ReflectorMetrics } from "./reflector/reflector-handler.js";
export type { Reflector } from "./reflector/reflector.js";
export { compareResourceVersions } from "./reflector/resource-version.js";
export type { ObjectEvent } from "./reflector/watch-event.js";
export { readPages } from "./rest/read-pages.js";
export { unlessNotFound } from "./rest/unless-not-found.js";
export type { KubeObject, ObjectMeta, ResourceScope, ResourceType } from "./rest/resource.js";
export {
  RestClient,
  type ApplyOptions,
  type KubeClient,
  type ObjectList,
  type ObjectScope,
  type RawRequest,
} from "./rest/rest-client.js";
export { Http2Transport } from "./transport/http2-transport.js";
export type { TransportTiming } from "./transport/transport-options.js";
