import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { cgroupHierarchies } from "./cgroups.js";

/** Where Debian's packages have what the node runs. */
const files: Readonly<Record<string, string>> = {
  containerd: "/usr/bin/containerd",
  runc: "/usr/sbin/runc",
  "containernetworking-plugins": "/usr/lib/cni/ptp",
  nftables: "/usr/sbin/nft",
  iptables: "/usr/sbin/iptables",
  conntrack: "/usr/sbin/conntrack",
};

/** A sentence that says why no node can run here; undefined if one can. */
export function missingForNode(): string | undefined {
  if (process.platform !== "linux") return "a node takes Linux.";
  if (process.getuid?.() !== 0) return "a node takes root.";
  const packages = Object.keys(files).filter((name) => !existsSync(files[name] ?? ""));
  if (packages.length > 0)
    return `a node takes packages of Debian: apt-get install --no-install-recommends ${packages.join(" ")}`;
  const memory = cgroupHierarchies().find(({ controllers }) => controllers.split(",").includes("memory"));
  if (memory === undefined)
    return "there is no cgroup v1 with a memory controller here, and no other version has been tried.";
  if (!isWritable(memory.own)) return `groups cannot be made in ${memory.own}.`;
  const namespaces = ["--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--fork"];
  const attempt = spawnSync("unshare", [...namespaces, "true"], { encoding: "utf8" });
  if (attempt.status !== 0)
    return `namespaces cannot be made here: ${attempt.error?.message ?? attempt.stderr.trim()}`;
  return undefined;
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
