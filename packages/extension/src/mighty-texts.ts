/** Annotations that stand for a security context. */
const confining = /^(container\.)?(apparmor\.security\.beta|seccomp\.security\.alpha)\.kubernetes\.io\//;

/** Annotations and labels by which clouds give rights to a ServiceAccount, and to the Pods that run as it. */
const identifying =
  /^((eks|iam)\.amazonaws\.com\/|iam\.gke\.io\/|azure\.workload\.identity\/|aadpodidbinding$|pod-identity\.alibabacloud\.com\/|k8s\.aliyun\.com\/|eks\.tke\.cloud\.tencent\.com\/)/;

/** Annotations by which webhooks put containers, volumes and secrets into a Pod, of images and paths of the node that the annotation may name. */
const injecting =
  /^((sidecar|inject|proxy)\.istio\.io\/|config\.linkerd\.io\/|vault\.hashicorp\.com\/|dapr\.io\/|openshift\.io\/(required-)?scc$)/;

/** Annotations by which the node gives a Pod devices, mounts and networks, or runs it otherwise. */
const ofNodes =
  /^(cdi\.k8s\.io\/|[\w-]+\.nri\.io\/|io\.kubernetes\.cri-o\.|io\.katacontainers\.|run\.oci\.|k8s\.v1\.cni\.cncf\.io\/|v1\.multus-cni\.io\/|cni\.projectcalico\.org\/)/;

/** Configuration that an ingress controller runs as it is written, with rights to all Secrets. */
const snippet = /\/([\w.-]+-)?snippets?$/;

export function standsForSecurityContext(name: string): boolean {
  return confining.test(name.toLowerCase());
}

/** True for the name of an annotation, or of a label, that may make a Pod, or who writes it, mightier than its spec says. */
export function isMightyText(name: string): boolean {
  const lower = name.toLowerCase();
  return [confining, identifying, injecting, ofNodes, snippet].some((pattern) => pattern.test(lower));
}
