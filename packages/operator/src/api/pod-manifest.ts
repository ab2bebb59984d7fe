import type { EnvironmentVariable, ResourceRequirements } from "@bunting/featureflags/resources";

/** A Pod as it is submitted: the fields that injection reads or writes; all others pass through unchanged. */
export interface PodManifest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: PodMetadata;
  readonly spec: PodSpec;
  readonly [field: string]: unknown;
}

export interface PodMetadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
  readonly os?: { readonly name: string };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** What all containers may take together; without it, each has its own. */
  readonly resources?: ResourceRequirements;
  readonly [field: string]: unknown;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly ports?: readonly ContainerPort[];
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMount[];
  /** `Always` makes an init container a native sidecar. */
  readonly restartPolicy?: "Always";
  readonly [field: string]: unknown;
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

/** A volume: its name, and one field that names its kind. */
export interface Volume {
  readonly name: string;
  readonly [kind: string]: unknown;
}
