import type { CustomResource } from "./custom-resource.js";
import { definedFields } from "./defined-fields.js";

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
/** Defaults of each parentRef. */
export const parentReferenceDefaults = Object.freeze({
  group: "gateway.networking.k8s.io",
  kind: "Gateway",
} as const);

export type DefaultedFlagd = FlagdSpec & Required<Pick<FlagdSpec, keyof typeof flagdDefaults>>;

/** The spec with the defaults of the CRD, also those of its parentRefs. */
export function defaultedFlagd(spec: FlagdSpec): DefaultedFlagd {
  const { gatewayApiRoutes: routes, ...fields } = definedFields(spec);
  const defaulted = { ...flagdDefaults, ...fields };
  if (routes === undefined) return defaulted;
  const parentRefs = routes.parentRefs.map((parent) => ({
    ...parentReferenceDefaults,
    ...definedFields(parent),
  }));
  return { ...defaulted, gatewayApiRoutes: { ...routes, parentRefs } };
}
