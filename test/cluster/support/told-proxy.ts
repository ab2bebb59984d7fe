import { eventually } from "../../support/event-queue.js";
import type { TempDirectory } from "../../support/temp-directory.js";
import type { Cluster } from "./cluster.js";

/** Makes the Pod of a proxy that runs on this machine, as a Deployment of the operator would have: the operator then asks it at 127.0.0.1. */
export async function createProxyPod({ api }: Cluster, namespace: string): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const labels = {
    "app.kubernetes.io/name": "flagd-proxy",
    "app.kubernetes.io/managed-by": "open-feature-operator",
  };
  await api.create(pods, {
    metadata: { name: "flagd-proxy-1", labels },
    spec: { containers: [{ name: "flagd-proxy", image: "registry.example/proxy" }] },
  });
  await api.patch(`${pods}/flagd-proxy-1/status`, {
    status: { podIP: "127.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  });
}

/** Mounts, as the file `tokens`, what the operator asks the proxy with, as soon as the operator has made it. */
export async function mountStatusTokens(
  { api }: Cluster,
  namespace: string,
  mounted: TempDirectory,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/secrets/flagd-proxy-status`;
  const isMounted = async (): Promise<boolean> => {
    const { status, text } = await api.request("GET", path);
    if (status !== 200) return false;
    const { data } = JSON.parse(text) as { readonly data: { readonly tokens: string } };
    mounted.replace("tokens", Buffer.from(data.tokens, "base64").toString());
    return true;
  };
  await eventually(isMounted, "the operator makes the token", 60_000);
}
