import { posix } from "node:path";
import type { Volume, VolumeMount } from "../api/pod-manifest.js";
import { flagFilePath } from "../sources/source-element.js";
import { credentialsDirectory, hostsKey, type CredentialsSecret } from "../sources/credentials-secret.js";
import { addressKey, type ObjectAddress } from "../sources/object-names.js";
import type { SourcePlan } from "../sources/source-plan.js";
import { textDigest } from "./entry-digest.js";
import type { SourceProblem } from "../sources/source-problem.js";

/** The flags of a sidecar outlive its container, so that it starts again with flags whatever the proxy does. */
export const cacheVolume: VolumeMount = { name: "bunting-cache", mountPath: "/var/cache/bunting" };
/** The token that proves to the proxy who the sidecar is, and the authority that the proxy's certificate is from. */
export const identityVolume: VolumeMount = {
  name: "bunting-identity",
  mountPath: "/var/run/secrets/bunting",
  readOnly: true,
};
/** The ConfigMap with the authority, in the namespaces of Pods. */
export const authorityConfigMap = "bunting-ca";

/** Tokens of sources. */
const credentialsVolume: VolumeMount = {
  name: "bunting-credentials",
  mountPath: credentialsDirectory,
  readOnly: true,
};

const socketVolume = "bunting-socket";

/** Directories that images have, or that Kubernetes mounts into: a volume would hide what is there from the application. */
const takenDirectories =
  /^\/(?:|(?:bin|boot|dev|etc|home|lib|lib32|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)|(?:dev|proc|sys|etc\/flagd|var\/cache\/bunting|var\/run\/secrets)(?:\/.*)?|var\/(?:cache|lib|log|run|spool|tmp)|usr\/[^/]+)$/;

export interface SidecarVolumes {
  readonly volumes: readonly Volume[];
  readonly agentMounts: readonly VolumeMount[];
  readonly applicationMounts: readonly VolumeMount[];
  /** Names of volumes that are on the node, and of no use but to the Pod. */
  readonly evictable: readonly string[];
}

/** What the volumes of a Pod are for. */
export interface VolumeNeeds {
  readonly hasIdentity: boolean;
  /** Empty without a socket. */
  readonly socketPath: string;
  /** FeatureFlags that are read as files. */
  readonly files: readonly ObjectAddress[];
  readonly secrets: readonly CredentialsSecret[];
  /** Where the Pod is. */
  readonly namespace: string;
}

/** What a plan's sources need: files are mounted, and tokens are too. */
export function mountedSources({ sources }: SourcePlan): Pick<VolumeNeeds, "files" | "secrets"> {
  return {
    files: sources.flatMap(({ way, flag }) => (way === "file" && flag !== undefined ? [flag] : [])),
    secrets: sources.flatMap(({ secret }) => (secret === undefined ? [] : [secret])),
  };
}

export function sidecarVolumes({
  hasIdentity,
  socketPath,
  files,
  secrets,
  namespace,
}: VolumeNeeds): SidecarVolumes {
  const socket: VolumeMount = { name: socketVolume, mountPath: posix.dirname(socketPath) };
  const hasSocket = socketPath !== "";
  const hasCredentials = secrets.length > 0;
  const flags = [...new Map(files.map((flag) => [addressKey(flag), flag])).values()];
  return {
    volumes: [
      { name: cacheVolume.name, emptyDir: { sizeLimit: "64Mi" } },
      ...(hasSocket ? [{ name: socketVolume, emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }] : []),
      ...(hasIdentity ? [identitySources] : []),
      ...(hasCredentials ? [credentialsSources(secrets)] : []),
      ...flags.map((flag) => ({
        name: flagVolumeName(flag),
        configMap: { name: flagConfigMapName(flag, namespace), optional: true },
      })),
    ],
    agentMounts: [
      cacheVolume,
      ...(hasSocket ? [socket] : []),
      ...(hasIdentity ? [identityVolume] : []),
      ...(hasCredentials ? [credentialsVolume] : []),
      ...flags.map((flag) => ({
        name: flagVolumeName(flag),
        mountPath: posix.dirname(flagFilePath(flag)),
        readOnly: true,
      })),
    ],
    applicationMounts: hasSocket ? [socket] : [],
    evictable: [cacheVolume, ...(hasSocket ? [socket] : [])].map(({ name }) => name),
  };
}

const identitySources: Volume = {
  name: identityVolume.name,
  projected: {
    sources: [
      { serviceAccountToken: { audience: "bunting", expirationSeconds: 3600, path: "token" } },
      {
        configMap: {
          name: authorityConfigMap,
          optional: true,
          items: [{ key: "ca.crt", path: "ca.crt" }],
        },
      },
    ],
  },
};

/** What is missing may come later: it keeps no Pod from starting. */
function credentialsSources(secrets: readonly CredentialsSecret[]): Volume {
  const keysOf = new Map<string, Set<string>>();
  for (const { name, key } of secrets) keysOf.set(name, (keysOf.get(name) ?? new Set([hostsKey])).add(key));
  const sources = Array.from(keysOf, ([name, keys]) => ({
    secret: {
      name,
      optional: true,
      items: Array.from(keys, (key) => ({ key, path: `${name}/${key}` })),
    },
  }));
  return { name: credentialsVolume.name, projected: { sources } };
}

/** Why a socket can't be at this path; undefined if it can. */
export function socketProblem(socketPath: string): SourceProblem | undefined {
  const isPlain = posix.isAbsolute(socketPath) && posix.normalize(socketPath) === socketPath;
  const isRight =
    isPlain &&
    !socketPath.endsWith("/") &&
    !socketPath.includes(":") &&
    // What Linux can bind.
    Buffer.byteLength(socketPath) <= 107 &&
    !takenDirectories.test(posix.dirname(socketPath));
  if (isRight) return undefined;
  const message = `socketPath: ${socketPath} can't be served: its directory becomes a volume in all containers of the Pod, so it must be of its own; write a path such as /run/openfeature/flagd.sock`;
  return { reason: "InvalidSetting", message };
}

/**
 * The ConfigMap, in the namespace of the Pods, that has a FeatureFlag as a file. Of that namespace's own it is called as the FeatureFlag, as with
 * the open-feature-operator.
 */
export function flagConfigMapName({ namespace, name }: ObjectAddress, podNamespace: string): string {
  if (namespace === podNamespace) return name;
  return `flags-${textDigest(`${namespace}/${name}`)}`;
}

/** A name that no volume of a Pod has: of two of one name, the API server keeps none, and of ours beside the Pod's, we leave ours out. */
function flagVolumeName(flag: ObjectAddress): string {
  return `bunting-flags-${textDigest(addressKey(flag))}`;
}
