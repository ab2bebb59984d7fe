import { writeFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { registryName } from "./addresses.js";
import { environment } from "./environment.js";
import type { PodStatus } from "./workload.js";
import type { Node } from "./node.js";

const base = path.resolve(import.meta.dirname, "../../../deploy/kustomize/base");

/** Where agents find the proxy of deploy/kustomize/base. */
export const proxyAddress = "bunting-proxy.bunting-system.svc.cluster.local:8015";
export const proxyNamespace = "bunting-system";

let installed: Promise<void> | undefined;

/** Installs the proxy for all tests of the run, on first use. Call it in a describe block, after `sharedNode`. */
export function installedProxy(node: () => Node): void {
  before("the proxy", async function () {
    this.timeout(120_000);
    installed ??= installProxy(node());
    await installed;
  });
}

/** Applies deploy/kustomize/base with our image, through an overlay such as users write, and waits until it is rolled out. */
async function installProxy(node: Node): Promise<void> {
  const overlay = path.join(environment("BUNTING_NODE_DIRECTORY"), "overlay");
  mkdirSync(overlay, { recursive: true });
  const kustomization = {
    resources: [path.relative(overlay, base)],
    images: [{ name: "ghcr.io/bunting/bunting-proxy", newName: `${registryName}/proxy`, newTag: "1" }],
  };
  writeFileSync(path.join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
  await node.kubectl(["apply", "-k", overlay]);
  await untilRolledOut(node);
}

export async function untilRolledOut(node: Node): Promise<void> {
  const deployment = ["deployment/bunting-proxy", "--timeout=100s"];
  await node.kubectl(["-n", proxyNamespace, "rollout", "status", ...deployment]);
}

/** The names of the proxy's Pods that are not ending. */
export async function proxyPods(node: Node): Promise<string[]> {
  const { items } = await node.cluster.api.list(`/api/v1/namespaces/${proxyNamespace}/pods`);
  return items
    .filter(({ metadata }) => metadata["deletionTimestamp"] === undefined)
    .map(({ metadata }) => metadata.name);
}

/** The ids of the proxy's containers. */
export async function proxyContainers(node: Node): Promise<string[]> {
  const { items } = await node.cluster.api.list(`/api/v1/namespaces/${proxyNamespace}/pods`);
  return items.flatMap(({ status }) => {
    const { containerStatuses = [] } = status as PodStatus;
    return containerStatuses.flatMap(({ containerID = [] }) => containerID);
  });
}

/** How many of the proxy's Pods are ready and not ending. */
export async function readyProxies(node: Node): Promise<number> {
  const { items } = await node.cluster.api.list(`/api/v1/namespaces/${proxyNamespace}/pods`);
  return items.filter(({ metadata, status }) => {
    const { conditions = [] } = status as PodStatus;
    const isReady = conditions.some((each) => each.type === "Ready" && each.status === "True");
    return isReady && metadata["deletionTimestamp"] === undefined;
  }).length;
}
