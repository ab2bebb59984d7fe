import type { Flagd, ResourceRequirements } from "@bunting/featureflags/resources";
import { nameLabel } from "../../api/names.js";
import type { DesiredMetadata } from "../desired-object.js";
import { imageRevision } from "../image-reference.js";
import { managedLabels } from "../managed-labels.js";

/** What the operator decides about all Flagds. */
export interface FlagdSettings {
  /** With its tag or digest. */
  readonly image: string;
  /** Whether that is flagd's own, which takes what ours does not. */
  readonly isFlagd?: boolean;
  readonly ports: FlagdPorts;
  /** For sources that say nothing of their own. */
  readonly resources: ResourceRequirements;
  readonly pod: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    /** Names of Secrets of the Flagd's namespace. */
    readonly imagePullSecrets: readonly string[];
  };
}

/** Ports of the container and of the Service. Those of a FeatureFlagSource are of sidecars. */
export interface FlagdPorts {
  readonly evaluation: number;
  readonly ofrep: number;
  readonly sync: number;
  readonly management: number;
}

/** The selector of the Pods; that of a Deployment is immutable. */
export function flagdSelector({ metadata }: Flagd): Readonly<Record<string, string>> {
  return { app: metadata.name };
}

/** Metadata of each object of a Flagd: all have its name, and are garbage with it. */
export function flagdMetadata(
  flagd: Flagd,
  settings: Pick<FlagdSettings, "image">,
  annotations: Readonly<Record<string, string>> = {},
): DesiredMetadata {
  const { apiVersion, kind, metadata } = flagd;
  const { namespace, name, uid } = metadata;
  return {
    name,
    namespace,
    labels: flagdLabels(flagd, settings),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ownerReferences: [{ apiVersion, kind, name, uid }],
  };
}

export function flagdLabels(
  { metadata }: Flagd,
  { image }: Pick<FlagdSettings, "image">,
): Readonly<Record<string, string>> {
  return {
    app: metadata.name,
    [nameLabel]: metadata.name,
    ...managedLabels,
    "app.kubernetes.io/version": imageRevision(image),
  };
}
