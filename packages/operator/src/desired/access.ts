import { posix } from "node:path";
import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import { emptyFlagDocument, isJsonObject } from "@bunting/protocol";
import { managedBy } from "../api/names.js";
import { addressKey, type ObjectAddress } from "../sources/object-names.js";
import { flagFilePath } from "../sources/source-element.js";
import type { SourcePlan } from "../sources/source-plan.js";
import type { DesiredObject } from "./desired-object.js";
import { textDigest } from "./entry-digest.js";
import { flagConfigMapName } from "./sidecar-volumes.js";

/** What has to be there for the sidecars of a namespace, beside the proxy. */
export interface AccessNeeds {
  /** FeatureFlags that they read as files. */
  readonly files: readonly ObjectAddress[];
  /** FeatureFlags that they watch with their own ServiceAccounts. */
  readonly watched: readonly ObjectAddress[];
  /** Whether they ask the proxy, and so have to verify it. */
  readonly asksProxy: boolean;
}

/** On what is made for the Pods of a namespace: which namespace that is. */
export const accessLabel = "bunting.dev/access";
/** The open-feature-operator's, on ConfigMaps: the FeatureFlag that they were made of. */
export const flagAnnotation = "openfeature.dev/featureflag";

export function accessNeeds(plans: Iterable<SourcePlan>): AccessNeeds {
  const sources = [...plans].flatMap(({ sources: of }) => of);
  const flagsOf = (way: "file" | "direct"): readonly ObjectAddress[] => {
    const flags = sources.flatMap((source) =>
      source.way === way && source.flag !== undefined ? [source.flag] : [],
    );
    return [...new Map(flags.map((flag) => [addressKey(flag), flag])).values()];
  };
  const asksProxy = sources.some(({ way }) => way === "proxy");
  return { files: flagsOf("file"), watched: flagsOf("direct"), asksProxy };
}

/** A FeatureFlag as the API server has it. */
export interface ReadFlag {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
  readonly spec?: unknown;
}

/**
 * The ConfigMap of a FeatureFlag for Pods of a namespace. In the FeatureFlag's own namespace it goes with it; to an owner elsewhere no reference
 * is possible.
 */
export function flagConfigMap({ metadata, spec }: ReadFlag, podNamespace: string): DesiredObject {
  const { name, namespace = "", uid } = metadata;
  const flag = { namespace, name };
  const owner = { apiVersion: openFeatureApiVersion, kind: "FeatureFlag", name, uid, controller: true };
  const flagSpec = isJsonObject(spec as never)
    ? (spec as { readonly flagSpec?: unknown }).flagSpec
    : undefined;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: flagConfigMapName(flag, podNamespace),
      namespace: podNamespace,
      labels: labelsOf(podNamespace),
      annotations: { [flagAnnotation]: namespace === podNamespace ? name : addressKey(flag) },
      ...(namespace === podNamespace && uid !== undefined ? { ownerReferences: [owner] } : {}),
    },
    data: { [posix.basename(flagFilePath(flag))]: JSON.stringify(flagSpec ?? emptyFlagDocument) },
  };
}

/** A role that may read FeatureFlags, and nothing else. A Role has to be in each namespace of such FeatureFlags. */
export interface FlagReaderRole {
  readonly kind: "ClusterRole" | "Role";
  readonly name: string;
}

/**
 * What lets the ServiceAccounts of a namespace read the FeatureFlags that its sidecars watch: a RoleBinding in each namespace of such FeatureFlags.
 */
export function flagReaderBindings(
  podNamespace: string,
  watched: readonly ObjectAddress[],
  { kind, name: role }: FlagReaderRole,
): readonly DesiredObject[] {
  const named = kind === "ClusterRole" ? role : `${kind} ${role}`;
  const namespaces = new Set(watched.map(({ namespace }) => namespace));
  return Array.from(namespaces, (namespace) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: {
      // The role of a binding can't be changed.
      name: `bunting-flag-readers-${textDigest(`${podNamespace} ${named}`)}`,
      namespace,
      labels: labelsOf(podNamespace),
    },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
    subjects: [
      {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Group",
        name: `system:serviceaccounts:${podNamespace}`,
      },
    ],
  }));
}

function labelsOf(podNamespace: string): Readonly<Record<string, string>> {
  return { [managedBy.label]: managedBy.value, [accessLabel]: podNamespace };
}
