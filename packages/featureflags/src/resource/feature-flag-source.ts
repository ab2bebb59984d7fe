import type { CustomResource } from "./custom-resource.js";
import type { EnvironmentVariable } from "./environment-variable.js";

export type FeatureFlagSource = CustomResource<"FeatureFlagSource", FeatureFlagSourceSpec>;

/** Where a workload's sidecar takes its flags from, and how it is run. */
export interface FeatureFlagSourceSpec {
  /** At least one. */
  readonly sources: readonly SourceEntry[];
  /** Of flagd.evaluation. */
  readonly port?: number;
  readonly managementPort?: number;
  readonly ofrepPort?: number;
  readonly socketPath?: string;
  readonly evaluator?: string;
  readonly envVars?: readonly EnvironmentVariable[];
  /** Such as `key=value`. */
  readonly syncProviderArgs?: readonly string[];
  /** For entries without a provider. */
  readonly defaultSyncProvider?: string;
  readonly logFormat?: string;
  /** Of the environment variables that containers get. */
  readonly envVarPrefix?: string;
  /** Whether Deployments that use this object are rolled out when it changes. */
  readonly rolloutOnChange?: boolean;
  readonly probesEnabled?: boolean;
  readonly debugLogging?: boolean;
  readonly otelCollectorUri?: string;
  readonly resources?: ResourceRequirements;
  /** Added to the context of each evaluation. */
  readonly contextValues?: Readonly<Record<string, string>>;
  /** Names of headers, and what their values are called in the context. */
  readonly headerToContextMappings?: Readonly<Record<string, string>>;
  /** Origins that pages may send requests from. */
  readonly cors?: readonly string[];
  /** How often a sync client may ping, as Go writes durations (`30s`). Since OFO 0.9.3; absent, the sidecar's default holds. */
  readonly keepAliveMinTime?: string;
  /** Whether a sync client may ping without a stream. Since OFO 0.9.3; absent, the sidecar's default holds. */
  readonly keepAlivePermitWithoutStream?: boolean;
}

/** One source. The provider is not limited to these by the CRD. */
export interface SourceEntry {
  /** `namespace/name` of a FeatureFlag for kubernetes, file and flagd-proxy; an address or URI for the others. */
  readonly source: string;
  readonly provider?: SourceProvider | (string & {});
  readonly httpSyncBearerToken?: string;
  /** For http and grpc: a Secret of the Pods' namespace with the token, and, under `hosts`, the servers that it is meant for. */
  readonly credentialsSecretRef?: SecretKeyReference;
  readonly tls?: boolean;
  readonly certPath?: string;
  readonly providerID?: string;
  readonly selector?: string;
  /** In seconds. */
  readonly interval?: number;
}

export interface SecretKeyReference {
  readonly name: string;
  /** `token` unless given. */
  readonly key?: string;
}

export type SourceProvider =
  "kubernetes" | "file" | "http" | "grpc" | "gcs" | "azblob" | "s3" | "flagd-proxy";

/** What a container may take, as Kubernetes has it: quantities by the name of the resource. */
export interface ResourceRequirements {
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, string | number>>;
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
}

/** The defaults of the CRD, which the API server fills in when an object is stored: older objects may lack them. */
export const featureFlagSourceDefaults = Object.freeze({
  port: 8013,
  managementPort: 8014,
  ofrepPort: 8016,
  evaluator: "json",
  logFormat: "json",
  envVarPrefix: "FLAGD",
  rolloutOnChange: false,
  probesEnabled: true,
  debugLogging: false,
});

export type DefaultedFeatureFlagSource = FeatureFlagSourceSpec &
  Required<Pick<FeatureFlagSourceSpec, keyof typeof featureFlagSourceDefaults>>;
