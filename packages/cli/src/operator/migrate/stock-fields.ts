/** Fields of a spec by name: `true` if all within it is kept, or the fields within. `*` stands for each item of a list or map. */
export interface FieldTable {
  readonly [field: string]: FieldTable | true;
}

const everything = (names: string): FieldTable =>
  Object.fromEntries(names.split(" ").map((name) => [name, true]));

/** What the definitions of the open-feature-operator 0.9.4 keep of the specs of their objects; they prune all else. */
export const stockFields = {
  FeatureFlag: {
    flagSpec: {
      flags: { "*": everything("state variants defaultVariant targeting metadata") },
      metadata: true,
      $evaluators: true,
    },
  },
  FeatureFlagSource: {
    ...everything(
      "port managementPort ofrepPort socketPath evaluator envVars syncProviderArgs defaultSyncProvider logFormat envVarPrefix rolloutOnChange probesEnabled debugLogging otelCollectorUri resources contextValues headerToContextMappings cors keepAliveMinTime keepAlivePermitWithoutStream",
    ),
    sources: {
      "*": everything("source provider httpSyncBearerToken tls certPath providerID selector interval"),
    },
  },
  Flagd: {
    ...everything("featureFlagSource replicas serviceType serviceAccountName"),
    ingress: everything(
      "enabled annotations hosts tls ingressClassName pathType flagdPath ofrepPath syncPath",
    ),
    gatewayApiRoutes: everything("enabled annotations hosts parentRefs"),
  },
  InProcessConfiguration: everything(
    "port host tls cache cacheMaxSize envVarPrefix socketPath offlineFlagSourcePath selector envVars",
  ),
} as const satisfies Readonly<Record<string, FieldTable>>;

/** Paths of the fields that a definition with these fields would prune. */
export function prunedFields(value: unknown, table: FieldTable, path = "spec"): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const each = table["*"];
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = each ?? (Object.hasOwn(table, name) ? table[name] : undefined);
    const at = `${path}.${name}`;
    if (known === undefined) return [at];
    return known === true ? [] : prunedFields(inner, known, at);
  });
}
