import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { addresses } from "./addresses.js";
import { containerdSocket } from "./container-runtime.js";

/** Writes the kubelet's configuration, and returns its arguments. */
export function kubeletArguments(directory: string, kubeconfig: string): string[] {
  const own = path.join(directory, "kubelet");
  mkdirSync(own, { recursive: true });
  // Pods ask cluster DNS only: there is nothing else to ask.
  writeFileSync(path.join(own, "resolv.conf"), "");
  const never = "0%";
  const configuration = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    // Kubernetes 1.36 still runs on cgroup v1, but only when told to.
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    clusterDNS: [addresses.dns],
    clusterDomain: "cluster.local",
    resolvConf: path.join(own, "resolv.conf"),
    failSwapOn: false,
    oomScoreAdj: 0,
    // Fails on other values of sysctls than it wants, rather than set them.
    protectKernelDefaults: true,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    // By default it would write below /usr.
    volumePluginDir: path.join(own, "plugins"),
    podLogsDir: path.join(directory, "pod-logs"),
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    // The disk of the machine is not the node's concern.
    evictionHard: {
      "memory.available": never,
      "nodefs.available": never,
      "nodefs.inodesFree": never,
      "imagefs.available": never,
      "imagefs.inodesFree": never,
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    serializeImagePulls: false,
    shutdownGracePeriod: "0s",
  };
  const file = path.join(own, "kubelet.json");
  writeFileSync(file, JSON.stringify(configuration));
  return [
    `--config=${file}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${path.join(own, "root")}`,
    `--cert-dir=${path.join(own, "certificates")}`,
    "--hostname-override=node",
    `--node-ip=${addresses.node}`,
  ];
}
