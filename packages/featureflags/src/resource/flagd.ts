import type { CustomResource } from "./custom-resource.js";
import { definedFields } from "./defined-fields.js";
import type { ResourceRequirements } from "./feature-flag-source.js";

export type Flagd = CustomResource<"Flagd", FlagdSpec>;

/** A flagd that stands by itself, with a Service and, if wanted, an Ingress or HTTPRoute. */
export interface FlagdSpec {
  /** The name of a FeatureFlagSource of the same namespace. */
  readonly featureFlagSource: string;
  readonly replicas?: number;
  readonly serviceType?: ServiceType;
  readonly serviceAccountName?: string;
  readonly ingress?: FlagdIngress;
  readonly gatewayApiRoutes?: FlagdRoutes;
  readonly podTemplate?: FlagdPodTemplate;
  /** Of the Service; they win over those of the Flagd, which it has as well. */
  readonly serviceAnnotations?: Readonly<Record<string, string>>;
  readonly autoscaling?: FlagdAutoscaling;
}

/** Fields of the Pods beside those that every Flagd has; what is an object here is as a Pod has it. */
export interface FlagdPodTemplate {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: object;
  readonly tolerations?: readonly object[];
  readonly topologySpreadConstraints?: readonly object[];
  /** In place of those of the FeatureFlagSource. */
  readonly resources?: ResourceRequirements;
  readonly priorityClassName?: string;
}

/** A HorizontalPodAutoscaler decides how many Pods there are. */
export interface FlagdAutoscaling {
  readonly minReplicas?: number;
  readonly maxReplicas: number;
  /** In percent of what the Pods request. Without either, 80 % of the CPU. */
  readonly targetCPUUtilizationPercentage?: number;
  readonly targetMemoryUtilizationPercentage?: number;
}

export type ServiceType = "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";

export interface FlagdIngress {
  readonly enabled?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hosts: readonly string[];
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
  readonly ingressClassName?: string;
  readonly pathType?: string;
  readonly flagdPath?: string;
  readonly ofrepPath?: string;
  readonly syncPath?: string;
}

export interface FlagdRoutes {
  readonly enabled?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hosts?: readonly string[];
  readonly parentRefs: readonly ParentReference[];
}

/** What an HTTPRoute is attached to, as the Gateway API has it. */
export interface ParentReference {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
  readonly sectionName?: string;
}

/** The defaults of the CRD. */
export const flagdDefaults = Object.freeze({ replicas: 1, serviceType: "ClusterIP" } as const);
export const autoscalingDefaults = Object.freeze({ minReplicas: 1 } as const);
/** Defaults of each parentRef. */
export const parentReferenceDefaults = Object.freeze({
  group: "gateway.networking.k8s.io",
  kind: "Gateway",
} as const);

export type DefaultedFlagd = FlagdSpec & Required<Pick<FlagdSpec, keyof typeof flagdDefaults>>;

/** The spec with the defaults of the CRD, also those of its autoscaling and parentRefs. */
export function defaultedFlagd(spec: FlagdSpec): DefaultedFlagd {
  const { gatewayApiRoutes: routes, autoscaling, ...fields } = definedFields(spec);
  const scaled =
    autoscaling === undefined
      ? {}
      : { autoscaling: { ...autoscalingDefaults, ...definedFields(autoscaling) } };
  const defaulted = { ...flagdDefaults, ...fields, ...scaled };
  if (routes === undefined) return defaulted;
  const parentRefs = routes.parentRefs.map((parent) => ({
    ...parentReferenceDefaults,
    ...definedFields(parent),
  }));
  return { ...defaulted, gatewayApiRoutes: { ...routes, parentRefs } };
}
