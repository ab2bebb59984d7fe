import type { InjectionEntry } from "../api/injection.js";
import type { Container } from "../api/pod-manifest.js";

const container: Container = {
  name: "flagd",
  image: "registry.example/bunting-agent:1.0.0",
  imagePullPolicy: "IfNotPresent",
  restartPolicy: "Always",
  args: [
    ...["start", "--management-port", "8014", "--port", "8013"],
    ...["--sources", '[{"uri":"proxy:8015","provider":"grpc","selector":"core.openfeature.dev/shop/flags"}]'],
    ...["--ofrep-port", "8016"],
  ],
  env: [
    { name: "FLAGD_MANAGEMENT_PORT", value: "8014" },
    { name: "BUNTING_CACHE_DIR", value: "/var/cache/bunting" },
    { name: "BUNTING_TOKEN_FILE", value: "/var/run/secrets/bunting/token" },
  ],
  ports: [
    { name: "management", containerPort: 8014 },
    { name: "flagd", containerPort: 8013 },
  ],
  securityContext: {
    capabilities: { drop: ["ALL"] },
    runAsUser: 65_532,
    runAsGroup: 65_532,
    privileged: false,
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    seccompProfile: { type: "RuntimeDefault" },
  },
  startupProbe: { httpGet: { path: "/healthz", port: 8014 }, periodSeconds: 1, failureThreshold: 30 },
  readinessProbe: { httpGet: { path: "/readyz", port: 8014 }, periodSeconds: 2 },
  livenessProbe: { httpGet: { path: "/healthz", port: 8014 } },
  resources: { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } },
  volumeMounts: [
    { name: "bunting-cache", mountPath: "/var/cache/bunting" },
    { name: "bunting-identity", mountPath: "/var/run/secrets/bunting", readOnly: true },
    { name: "bunting-socket", mountPath: "/run/openfeature" },
  ],
};

/** An entry that uses every part of the format. */
export const fullEntry: InjectionEntry = {
  digest: "0123456789abcdef",
  revision: "1.0.0",
  container,
  guaranteed: {
    ...container,
    resources: { requests: { cpu: "20m", memory: "64Mi" }, limits: { cpu: "20m", memory: "64Mi" } },
  },
  volumes: [
    { name: "bunting-cache", emptyDir: { sizeLimit: "64Mi" } },
    { name: "bunting-socket", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    {
      name: "bunting-identity",
      projected: {
        defaultMode: 288,
        sources: [
          { serviceAccountToken: { audience: "bunting", expirationSeconds: 3600, path: "token" } },
          {
            configMap: {
              name: "bunting-ca",
              optional: true,
              items: [{ key: "ca.crt", path: "ca.crt" }],
            },
          },
        ],
      },
    },
  ],
  env: [
    { name: "FLAGD_RESOLVER", value: "rpc" },
    { name: "FLAGD_HOST", value: "localhost" },
    { name: "FLAGD_PORT", value: "8013" },
    { name: "FLAGD_SOCKET_PATH", value: "/run/openfeature/flagd.sock" },
  ],
  mounts: [{ name: "bunting-socket", mountPath: "/run/openfeature" }],
  imagePullSecrets: ["registry"],
  annotations: {
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "bunting-cache,bunting-socket",
    "openfeature.dev/allowkubernetessync": "true",
  },
};

const isSocket = ({ name }: { readonly name: string }): boolean => name === "bunting-socket";
const socketless = ({ volumeMounts = [], ...rest }: Container): Container => ({
  ...rest,
  volumeMounts: volumeMounts.filter((of) => !isSocket(of)),
});

/** Of applications that connect to the sidecar's port, for want of a socket. */
export const portEntry: InjectionEntry = {
  ...fullEntry,
  digest: "0000000000008013",
  container: socketless(container),
  guaranteed: socketless(fullEntry.guaranteed ?? container),
  volumes: fullEntry.volumes.filter((of) => !isSocket(of)),
  mounts: [],
  annotations: { ...fullEntry.annotations, "example.com/given": "by an extension" },
};

/** As little as a sidecar's entry may have. */
export const bareEntry: InjectionEntry = {
  digest: "fedcba9876543210",
  revision: "bare",
  container: { name: "flagd", image: "registry.example/bunting-agent:1.0.0", restartPolicy: "Always" },
  volumes: [],
  env: [],
  mounts: [],
  imagePullSecrets: [],
  annotations: {},
};

/** Of applications that evaluate flags in process, and talk to the proxy themselves. */
export const inProcessEntry: InjectionEntry = {
  digest: "00112233445566aa",
  revision: "",
  volumes: fullEntry.volumes.filter(({ name }) => name === "bunting-identity"),
  env: [
    { name: "FLAGD_HOST", value: "proxy" },
    { name: "FLAGD_RESOLVER", value: "in-process" },
    { name: "FLAGD_NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  ],
  mounts: [{ name: "bunting-identity", mountPath: "/var/run/secrets/bunting", readOnly: true }],
  imagePullSecrets: [],
  annotations: {},
};
