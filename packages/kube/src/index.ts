export { KubeError, type KubeErrorCode, type KubeErrorOptions } from "./kube-error.js";
export type { KubeClient, ObjectList, Query } from "./rest/kube-client.js";
export type { KubeObject, ObjectMeta, ResourceScope, ResourceType } from "./rest/resource.js";
export type { KubeRequest, KubeResponse, KubeTransport } from "./transport/kube-transport.js";
