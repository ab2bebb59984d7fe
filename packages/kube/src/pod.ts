/**
 * The entry for a program in a Pod that watches objects of its own cluster. It never imports client-node, which `index.ts`
 * loads for kubeconfigs: that costs 80 MB, and an agent's bundle must not have it.
 */
export { inClusterConfig, isInCluster } from "./config/in-cluster.js";
export { ClusterWatches, type RunningWatch } from "./informer/cluster-watches.js";
export { ObjectTracker } from "./informer/object-tracker.js";
export { KubeError } from "./kube-error.js";
export { confirmAfterMs } from "./reflector/confirm-after.js";
export type { Epoch, Epochs } from "./reflector/epochs.js";
export type { ConsistentRead, ReflectorHandler } from "./reflector/reflector-handler.js";
export type { ObjectEvent } from "./reflector/watch-event.js";
export type { KubeObject } from "./rest/resource.js";
export { RestClient } from "./rest/rest-client.js";
export { Http2Transport } from "./transport/http2-transport.js";
