import type { ResourceRequirements } from "@bunting/featureflags/resources";
import { sidecarName } from "../api/names.js";
import type { Container } from "../api/pod-manifest.js";

export interface ContainerParts {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: NonNullable<Container["env"]>;
  readonly volumeMounts: NonNullable<Container["volumeMounts"]>;
  readonly ports: { readonly management: number; readonly flagd: number };
  readonly traits: ContainerTraits;
}

export interface ContainerTraits {
  readonly hasProbes: boolean;
  /** OpenShift chooses the users of a namespace itself, and refuses Pods that name another one. */
  readonly choosesUser: boolean;
}

/** The user of all our images; the open-feature-operator runs flagd as the same. */
export const imageUser = { runAsUser: 65532, runAsGroup: 65532 };

/**
 * The sidecar: a native one, which is an init container that goes on running, so that the application starts after it and Jobs complete. It
 * passes the Pod Security Standard `restricted`.
 */
export function sidecarContainer(parts: ContainerParts, resources: ResourceRequirements): Container {
  const { image, args, env, volumeMounts, ports, traits } = parts;
  return {
    name: sidecarName,
    image,
    imagePullPolicy: "IfNotPresent",
    restartPolicy: "Always",
    args,
    env,
    ports: [
      { name: "management", containerPort: ports.management },
      { name: "flagd", containerPort: ports.flagd },
    ],
    resources,
    securityContext: {
      capabilities: { drop: ["ALL"] },
      privileged: false,
      ...(traits.choosesUser ? imageUser : {}),
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      seccompProfile: { type: "RuntimeDefault" },
    },
    ...(traits.hasProbes ? probes(ports.management) : {}),
    volumeMounts,
  };
}

/**
 * Containers that start later wait for the startup probe: our agent answers /healthz once it has flags, or has waited for them in vain. flagd
 * answers it at once. Both have the two paths.
 */
function probes(port: number): Readonly<Record<string, unknown>> {
  const get = (path: string) => ({ httpGet: { path, port, scheme: "HTTP" } });
  return {
    startupProbe: { ...get("/healthz"), periodSeconds: 1, failureThreshold: 30 },
    readinessProbe: { ...get("/readyz"), periodSeconds: 2 },
    // On a node without time to spare an answer may take longer than a second, and a restart would take of it what is left.
    livenessProbe: { ...get("/healthz"), timeoutSeconds: 5, failureThreshold: 6 },
  };
}
