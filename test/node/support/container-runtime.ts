import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { addresses, registryName } from "./addresses.js";

export const containerdSocket = "/run/containerd/containerd.sock";

/** Writes containerd's configuration, and returns its path. Everything of it is below `directory`, but for its sockets in /run. */
export function writeContainerdConfig(directory: string): string {
  const file = (name: string, text: string): string => {
    const target = path.join(directory, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return target;
  };
  const registry = `http://${addresses.node}:${addresses.registryPort}`;
  // Whatever registry an image names: no other can be reached.
  file(
    "registries/_default/hosts.toml",
    `server = "${registry}"\n[host."${registry}"]\ncapabilities = ["pull", "resolve"]\n`,
  );
  // ptp and not bridge: every Pod is routed, so replies pass the translation of addresses and the policies without bridge-nf.
  const ipam = {
    type: "host-local",
    dataDir: path.join(directory, "cni-state"),
    ranges: [[{ subnet: addresses.pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  const network = {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [{ type: "ptp", ipMasq: false, mtu: 1500, ipam }],
  };
  file("cni/10-pods.conflist", JSON.stringify(network));
  const cri = "io.containerd.grpc.v1.cri";
  return file(
    "containerd.toml",
    `version = 2
root = "${directory}/containerd"
state = "/run/containerd"
[grpc]
address = "${containerdSocket}"
[plugins."${cri}"]
sandbox_image = "${registryName}/pause:1"
enable_unprivileged_ports = true
# Without CAP_SYS_RESOURCE nothing can be made less likely to be killed than this process is.
restrict_oom_score_adj = true
[plugins."${cri}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."${cri}".containerd.runtimes.runc.options]
SystemdCgroup = false
BinaryName = "runc"
[plugins."${cri}".cni]
conf_dir = "${directory}/cni"
bin_dir = "/usr/lib/cni"
[plugins."${cri}".registry]
config_path = "${directory}/registries"
`,
  );
}
