import type { FeatureFlagSourceSpec, SourceEntry } from "./feature-flag-source.js";
import type { FlagDefinition, FlagSpec } from "./feature-flag.js";
import type { FlagRollout } from "./flag-rollout.js";
import type { FlagdSpec } from "./flagd.js";
import type { InProcessConfigurationSpec } from "./in-process-configuration.js";

/** The names of a type's fields: the compiler makes sure that all of them are there, and no other. */
function fieldsOf<T>(fields: Record<keyof T, true>): readonly string[] {
  return Object.freeze(Object.keys(fields).sort());
}

/** The fields that our definitions keep of the specs of each kind; the API server drops all others when an object is stored. */
export const resourceFields = Object.freeze({
  flagSpec: fieldsOf<FlagSpec>({ flags: true, metadata: true, $evaluators: true }),
  flag: fieldsOf<FlagDefinition>({
    state: true,
    variants: true,
    defaultVariant: true,
    targeting: true,
    metadata: true,
  }),
  flagRollout: fieldsOf<FlagRollout>({ waves: true, observe: true, maxRefusing: true, paused: true }),
  featureFlagSource: fieldsOf<FeatureFlagSourceSpec>({
    sources: true,
    port: true,
    managementPort: true,
    ofrepPort: true,
    socketPath: true,
    evaluator: true,
    envVars: true,
    syncProviderArgs: true,
    defaultSyncProvider: true,
    logFormat: true,
    envVarPrefix: true,
    rolloutOnChange: true,
    probesEnabled: true,
    debugLogging: true,
    otelCollectorUri: true,
    resources: true,
    contextValues: true,
    headerToContextMappings: true,
    cors: true,
    keepAliveMinTime: true,
    keepAlivePermitWithoutStream: true,
  }),
  sourceEntry: fieldsOf<SourceEntry>({
    source: true,
    provider: true,
    httpSyncBearerToken: true,
    credentialsSecretRef: true,
    tls: true,
    certPath: true,
    providerID: true,
    selector: true,
    interval: true,
  }),
  inProcessConfiguration: fieldsOf<InProcessConfigurationSpec>({
    port: true,
    host: true,
    tls: true,
    cache: true,
    cacheMaxSize: true,
    envVarPrefix: true,
    socketPath: true,
    offlineFlagSourcePath: true,
    selector: true,
    envVars: true,
  }),
  flagd: fieldsOf<FlagdSpec>({
    featureFlagSource: true,
    replicas: true,
    serviceType: true,
    serviceAccountName: true,
    ingress: true,
    gatewayApiRoutes: true,
    podTemplate: true,
    serviceAnnotations: true,
    autoscaling: true,
  }),
});
