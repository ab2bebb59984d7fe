import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { registryName } from "./addresses.js";
import { environment } from "./environment.js";
import type { Node } from "./node.js";

const kustomize = path.resolve(import.meta.dirname, "../../../deploy/kustomize");
const namespace = "bunting-by-address";
const suffix = "-by-address";

export interface ProxyByAddress {
  /** Where agents find it. */
  readonly address: string;
  logs(): Promise<string>;
  delete(): Promise<void>;
}

/** Applies deploy/kustomize/components/pod-ip with our image, as a second proxy beside the one that other tests share. */
export async function installProxyByAddress(node: Node): Promise<ProxyByAddress> {
  const overlay = path.join(environment("BUNTING_NODE_DIRECTORY"), "overlay-by-address");
  mkdirSync(overlay, { recursive: true });
  const kustomization = {
    namespace,
    nameSuffix: suffix,
    resources: [path.relative(overlay, path.join(kustomize, "base"))],
    components: [path.relative(overlay, path.join(kustomize, "components/pod-ip"))],
    images: [{ name: "ghcr.io/bunting/bunting-proxy", newName: `${registryName}/proxy`, newTag: "1" }],
    replicas: [{ name: "bunting-proxy", count: 1 }],
    // It keeps connections of the node's network out, which are to be refused by the proxy here.
    patches: [
      {
        target: { kind: "NetworkPolicy" },
        patch:
          "$patch: delete\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: any }",
      },
    ],
  };
  writeFileSync(path.join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
  await node.kubectl(["apply", "-k", overlay]);
  const deployment = `deployment/bunting-proxy${suffix}`;
  await node.kubectl(["-n", namespace, "rollout", "status", deployment, "--timeout=100s"]);
  return {
    address: `bunting-proxy${suffix}.${namespace}.svc.cluster.local:8015`,
    logs: () => node.kubectl(["-n", namespace, "logs", deployment]),
    delete: async () => {
      await node.kubectl(["delete", "-k", overlay, "--wait=false"]);
    },
  };
}
