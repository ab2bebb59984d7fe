import { readFileSync } from "node:fs";
import { ask, type StoredObject } from "./cluster-api.js";
import { isProxyReady } from "./proxy.js";
import { namespace, setting } from "./settings.js";

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly namespace: string;
  readonly object: StoredObject & { readonly spec: PodSpec };
}

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
  readonly containers: readonly { readonly env?: readonly unknown[] }[];
}

interface RecordedPod {
  readonly initContainers: [{ readonly name: string; image: string; readonly args: string[] }];
  readonly containers: readonly [{ readonly env: readonly unknown[] }];
}

/** A patch for the Pod, or the sentence with which it is refused. Updates of Pods are left alone: that the operator changes them is a fault of its own. */
export async function injectPod({
  operation,
  namespace: place,
  object,
}: AdmissionRequest): Promise<readonly object[] | string> {
  const { annotations = {} } = object.metadata;
  if (operation !== "CREATE" || annotations["openfeature.dev/enabled"] !== "true") return [];
  const name = annotations["openfeature.dev/featureflagsource"];
  if (name === undefined || object.metadata.ownerReferences === undefined)
    return "static or orphaned pods cannot be mutated";
  const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${place}/featureflagsources/${name}`;
  const source = await ask("GET", path);
  if (source === undefined) return `FeatureFlagSource ${name} not found`;
  if (!(await isProxyReady())) return "flagd-proxy is not ready, deferring pod admission";
  const { initContainers = [], containers } = object.spec;
  const recorded = JSON.parse(readFileSync("/workload-pod.json", "utf8")) as RecordedPod;
  const [sidecar] = recorded.initContainers;
  sidecar.image = `${setting("SIDECAR_IMAGE")}:${setting("SIDECAR_TAG")}`;
  sidecar.args[sidecar.args.indexOf("--sources") + 1] = JSON.stringify(elementsOf(source, place));
  const { env } = recorded.containers[0];
  // It takes the place of one of its name.
  const others = initContainers.filter(({ name: other }) => other !== sidecar.name);
  return [
    { op: "add", path: "/spec/initContainers", value: [...others, sidecar] },
    ...containers.map(({ env: own = [] }, index) => ({
      op: "add",
      path: `/spec/containers/${index}/env`,
      value: [...own, ...env],
    })),
  ];
}

function elementsOf(source: StoredObject, place: string): readonly object[] {
  const sources = source.spec?.["sources"] as readonly { readonly source: string }[];
  return sources.map((each) => ({
    uri: `flagd-proxy-svc.${namespace}.svc.cluster.local:${setting("FLAGD_PROXY_PORT")}`,
    provider: "grpc",
    selector: `core.openfeature.dev/${each.source.includes("/") ? "" : `${place}/`}${each.source}`,
  }));
}
