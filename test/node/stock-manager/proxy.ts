import { readFileSync } from "node:fs";
import { ask, type StoredObject } from "./cluster-api.js";
import { namespace, setting } from "./settings.js";

const owner = "open-feature-operator-controller-manager";
const mark = "app.kubernetes.io/managed-by";
const collections: Readonly<Record<string, string>> = {
  Deployment: `/apis/apps/v1/namespaces/${namespace}/deployments`,
  Service: `/api/v1/namespaces/${namespace}/services`,
  PodDisruptionBudget: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
};

/** True if at least one Pod of the proxy runs: without one, Pods are refused. */
export async function isProxyReady(): Promise<boolean> {
  const deployment = await ask("GET", `${collections["Deployment"] ?? ""}/flagd-proxy`);
  return Number(deployment?.status?.["readyReplicas"] ?? 0) > 0;
}

/** Writes the objects of the proxy as they were recorded, with the image of the settings: creates them, or updates those with the label. */
export async function deployProxy(): Promise<void> {
  const deployment = await ask("GET", `${collections["Deployment"] ?? ""}/${owner}`);
  if (deployment?.metadata.uid === undefined) throw new Error("unable to fetch operator deployment");
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "Deployment", name: owner, uid: deployment.metadata.uid },
  ];
  for (const recorded of recordedObjects()) {
    const { apiVersion, kind, metadata, spec } = recorded;
    const collection = collections[kind] ?? "";
    const { name, labels } = metadata;
    const desired = { apiVersion, kind, metadata: { name, namespace, labels, ownerReferences }, spec };
    const path = `${collection}/${name}`;
    const live = await ask("GET", path);
    if (live === undefined) await ask("POST", collection, desired);
    else if (live.metadata.labels?.[mark] !== "open-feature-operator")
      throw new Error(`${name} not managed by OFO`);
    else {
      const { resourceVersion } = live.metadata;
      await ask("PUT", path, { ...desired, metadata: { ...desired.metadata, resourceVersion } });
    }
  }
}

type RecordedObject = StoredObject & { readonly apiVersion: string; readonly kind: string };

function recordedObjects(): readonly RecordedObject[] {
  const image = `${setting("FLAGD_PROXY_IMAGE")}:${setting("FLAGD_PROXY_TAG")}`;
  const text = readFileSync("/proxy-objects.json", "utf8").replaceAll(
    /"ghcr\.io\/open-feature\/flagd-proxy:[^"]*"/g,
    JSON.stringify(image),
  );
  return (JSON.parse(text) as { readonly items: readonly RecordedObject[] }).items.map((object) => {
    const spec = Object.entries(object.spec ?? {}).filter(([field]) => !field.startsWith("clusterIP"));
    return { ...object, spec: Object.fromEntries(spec) };
  });
}
