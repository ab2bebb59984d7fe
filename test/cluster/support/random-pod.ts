import type {
  Container,
  PodManifest,
  PodSpec,
  VolumeMount,
} from "@bunting/operator/internal/api/pod-manifest.js";
import { evictableVolumesAnnotation } from "@bunting/operator/internal/api/names.js";

/** Names, ports, paths and quantities that matter to injection, mixed with others that do not. */
const containerNames = ["app", "second", "flagd", "istio-proxy", "worker"];
const initNames = ["istio-init", "istio-validation", "linkerd-proxy", "migrate", "wait", "flagd"];
const variableNames = ["FLAGD_HOST", "FLAGD_PORT", "FLAGD_RESOLVER", "OTHER", "LAST"];
const ports = [8080, 8013, 8014, 8015, 8016, 9090];
const paths = ["/run/openfeature", "/var/run/secrets/bunting", "/data", "/cache"];
const volumeNames = ["bunting-cache", "bunting-socket", "bunting-identity", "data"];
const cpus = ["1", "1000m", "500m", "0.5", "0"];
const memories = ["1Gi", "1073741824", "1024Mi", "64Mi"];

/** A Pod that the API server accepts, for a test of what injection makes of any Pod. */
export function randomPod(random: () => number): PodManifest {
  const chance = (share: number): boolean => random() < share;
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const some = <Item>(items: readonly Item[], share: number): Item[] => items.filter(() => chance(share));
  const maybe = <Part extends object>(share: number, part: () => Part): Part | object =>
    chance(share) ? part() : {};

  const volumes = some(volumeNames, 0.15).map((name) => ({ name, emptyDir: {} }));
  const mounts = (): VolumeMount[] =>
    volumes.length === 0 ? [] : some(paths, 0.3).map((mountPath) => ({ name: one(volumes).name, mountPath }));
  const resources = (): object => {
    const limits = {
      ...maybe(0.9, () => ({ cpu: one(cpus) })),
      ...maybe(0.9, () => ({ memory: one(memories) })),
    };
    return {
      limits,
      ...maybe(0.3, () => ({ requests: limits })),
      ...maybe(0.1, () => ({ requests: { cpu: "0" } })),
    };
  };
  const container = (name: string): Container => ({
    name,
    image: "shop.example/app",
    ...maybe(0.5, () => ({
      env: some(variableNames, 0.4).map((variable) => ({ name: variable, value: name })),
    })),
    ...maybe(0.4, () => ({ volumeMounts: mounts() })),
    ...maybe(0.7, () => ({ resources: resources() })),
    ...maybe(0.15, () => ({ ports: [{ containerPort: one(ports), protocol: chance(0.8) ? "TCP" : "UDP" }] })),
  });
  const isRare = chance(0.85) ? (name: string): boolean => name !== "flagd" : (): boolean => true;
  const names = some(containerNames.slice(1), 0.3).filter(isRare);
  const initContainers = (): Container[] =>
    some(initNames, 0.3)
      .filter((name) => isRare(name) && !names.includes(name))
      .sort(() => random() - 0.5)
      .map((name) => ({ ...container(name), ...maybe(0.3, () => ({ restartPolicy: "Always" as const })) }));
  const spec: PodSpec = {
    containers: ["app", ...names].map(container),
    ...maybe(0.6, () => ({ initContainers: initContainers() })),
    ...maybe(0.7, () => ({ volumes })),
    ...(volumes.length > 0 ? { volumes } : {}),
    ...maybe(0.5, () => ({ serviceAccountName: "shop" })),
    ...maybe(0.3, () => ({ imagePullSecrets: some(["registry", "own"], 0.5).map((name) => ({ name })) })),
    ...maybe(0.05, () => ({ hostNetwork: true })),
    ...maybe(0.1, () => ({ nodeSelector: { "kubernetes.io/os": one(["linux", "windows"]) } })),
    // Pods for Windows may have no resources of their own.
    ...(chance(0.1)
      ? { os: { name: "windows" } }
      : maybe(0.1, () => ({ resources: { limits: { cpu: "8", memory: "8Gi" } } }))),
  };
  const marks = {
    ...maybe(0.3, () => ({ "bunting.dev/injected": "webhook earlier" })),
    ...maybe(0.1, () => ({ "bunting.dev/not-injected": "Windows" })),
    ...maybe(0.2, () => ({ "example.com/given": "own", "openfeature.dev/allowkubernetessync": "false" })),
    ...maybe(0.2, () => ({
      [evictableVolumesAnnotation]: one(["scratch", "bunting-cache,bunting-socket", ""]),
    })),
  };
  return {
    metadata: {
      ...(chance(0.5) ? { name: "app" } : { generateName: "app-" }),
      ...maybe(0.5, () => ({
        labels: some(["app", "bunting.dev/agent"], 0.5).reduce((all, key) => ({ ...all, [key]: "x" }), {}),
      })),
      annotations: marks,
    },
    spec,
  };
}
