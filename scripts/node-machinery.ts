import { buildMachinery, kubernetes, machineryModule as module } from "./cluster-machinery.js";
import { buildGoTools, type Machinery } from "./go-machinery.js";

/** Where the programs of a node are. */
export interface NodeMachinery {
  /** etcd, kube-apiserver, kube-controller-manager and kubectl: those of the cluster tests. */
  readonly cluster: string;
  /** kubelet, kube-scheduler and kube-proxy. */
  readonly node: string;
  /** coredns and pause, which run in Pods. */
  readonly pods: string;
}

/** Builds what is not in the cache, or says in a sentence why it can't. Rejects if a build fails. */
export async function buildNodeMachinery(): Promise<NodeMachinery | { readonly missing: string }> {
  // One after the other: they share what Go has compiled, and each build takes all cores.
  const cluster = await buildMachinery();
  if ("missing" in cluster) return cluster;
  const node = await buildNode();
  if ("missing" in node) return node;
  const pods = await buildPods();
  if ("missing" in pods) return pods;
  return { cluster: cluster.directory, node: node.directory, pods: pods.directory };
}

/** kubelet, kube-scheduler and kube-proxy. */
export function buildNode(): Promise<Machinery> {
  const { version, linkerFlags } = kubernetes();
  return buildGoTools({
    name: "kubelet",
    module,
    packages: ["kubelet", "kube-scheduler", "kube-proxy"].map((name) => `k8s.io/kubernetes/cmd/${name}`),
    what: `kubelet, kube-scheduler and kube-proxy ${version} (once; half a minute on two cores)`,
    linkerFlags,
  });
}

/** coredns and pause. */
export function buildPods(): Promise<Machinery> {
  return buildGoTools({
    name: "coredns",
    module,
    packages: ["./coredns", "./pause"],
    what: "CoreDNS for the tests on a node (once; half a minute)",
  });
}
