/** The API of our custom resources, as the open-feature-operator named it. */
export const openFeatureApiVersion = "core.openfeature.dev/v1beta1";

const api = { group: "core.openfeature.dev", version: "v1beta1" } as const;

/** What the kinds beside FeatureFlag are called in URLs of the API server; that of FeatureFlag is `featureFlagType` of the protocol. */
export const featureFlagSourceType = { ...api, plural: "featureflagsources" } as const;
export const flagdType = { ...api, plural: "flagds" } as const;
export const inProcessConfigurationType = { ...api, plural: "inprocessconfigurations" } as const;

/** An object of our API. The open-feature-operator writes no status. */
export interface CustomResource<Kind extends string, Spec> {
  readonly apiVersion: typeof openFeatureApiVersion;
  readonly kind: Kind;
  readonly metadata: ResourceMetadata;
  readonly spec: Spec;
}

/** Of the metadata of an object, what its readers need. */
export interface ResourceMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}
