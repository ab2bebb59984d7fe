import type { DesiredObject } from "../desired-object.js";
import { managedLabels } from "../managed-labels.js";
import { podSelector, portNames, proxyNames, type ProxySettings } from "./proxy-settings.js";

const namespaceCalled = (name: string): object => ({
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
});
const tcp = (port: string | number): object => ({ port, protocol: "TCP" });

/** Options with which the proxy calls more than the API server: which addresses that may be, only they say. */
const callingOptions = ["backplane", "remote-hosts", "source"];

/**
 * The NetworkPolicy: who reaches the proxy, and whom it reaches. Flags are for every Pod of the cluster, and for everybody where Pods with the address
 * of their node, which no selector finds, have sidecars. Metrics are for the namespace `monitoring` and for our own, where the operator reads how many
 * subscribers there are, and for everybody where the operator has the address of a node. Probes come from the kubelet of the Pod's own node, which no policy keeps out.
 */
export function proxyNetworkPolicy(settings: ProxySettings): DesiredObject {
  const { namespace, options, redis, hasNodeClients = false, isOnNode = false } = settings;
  const callsOthers = redis !== undefined || callingOptions.some((name) => options[name] !== undefined);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: proxyNames.networkPolicy, namespace, labels: managedLabels },
    spec: {
      podSelector: { matchLabels: podSelector },
      policyTypes: callsOthers ? ["Ingress"] : ["Ingress", "Egress"],
      ingress: [
        { ...(hasNodeClients ? {} : { from: [{ namespaceSelector: {} }] }), ports: [tcp(portNames.sync)] },
        {
          ...(isOnNode ? {} : { from: [namespaceCalled("monitoring"), namespaceCalled(namespace)] }),
          ports: [tcp(portNames.management)],
        },
      ],
      ...(callsOthers ? {} : { egress: [toNameServers, toApiServer] }),
    },
  };
}

const toNameServers = {
  to: [namespaceCalled("kube-system")],
  ports: [{ port: 53, protocol: "UDP" }, tcp(53)],
};
/**
 * Where the API server stands differs from cluster to cluster, mostly outside of every namespace, so only its ports can be named: those of its
 * Service, of kubeadm and most others, of minikube, and of MicroK8s.
 */
const toApiServer = { ports: [443, 6443, 8443, 16443].map(tcp) };
