import { writeFileSync } from "node:fs";
import path from "node:path";
import { addresses } from "./addresses.js";

/** Writes kube-proxy's configuration, and returns its arguments. */
export function kubeProxyArguments(directory: string, kubeconfig: string): string[] {
  const configuration = {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    // A second by default.
    nftables: { minSyncPeriod: "100ms" },
    hostnameOverride: "node",
    clientConnection: { kubeconfig },
    oomScoreAdj: 0,
    clusterCIDR: addresses.pods,
    detectLocalMode: "ClusterCIDR",
    // The limits of conntrack are the machine's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    metricsBindAddress: "127.0.0.1:10249",
    healthzBindAddress: "127.0.0.1:10256",
  };
  const file = path.join(directory, "kube-proxy.json");
  writeFileSync(file, JSON.stringify(configuration));
  return [`--config=${file}`];
}
