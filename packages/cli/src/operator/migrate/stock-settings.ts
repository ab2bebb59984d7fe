import type { KubeObject } from "@bunting/kube";

/** Variables of the open-feature-operator: the value of our chart that takes the place of each, and what its own chart sets. */
const variables: Readonly<Record<string, readonly [value: string, usual: string]>> = {
  SIDECAR_PORT: ["options.sidecar-port", "8013"],
  SIDECAR_MANAGEMENT_PORT: ["options.sidecar-management-port", "8014"],
  SIDECAR_SOCKET_PATH: ["options.sidecar-socket-path", ""],
  SIDECAR_PROVIDER_ARGS: ["options.sidecar-provider-args", ""],
  SIDECAR_ENV_VAR_PREFIX: ["options.sidecar-env-var-prefix", "FLAGD"],
  SIDECAR_SYNC_PROVIDER: ["options.sidecar-sync-provider", "kubernetes"],
  SIDECAR_EVALUATOR: ["options.sidecar-evaluator", "json"],
  SIDECAR_LOG_FORMAT: ["options.sidecar-log-format", "json"],
  SIDECAR_PROBES_ENABLED: ["options.sidecar-probes-enabled", "true"],
  FLAGD_PROXY_REPLICA_COUNT: ["options.proxy-replica-count", "1"],
  FLAGD_PROXY_PORT: ["options.proxy-port", "8015"],
  FLAGD_PROXY_MANAGEMENT_PORT: ["options.proxy-management-port", "8016"],
  FLAGD_PROXY_DEBUG_LOGGING: ["options.proxy-debug-logging", "false"],
  FLAGD_CLUSTER_DOMAIN: ["options.cluster-domain", "cluster.local"],
  FLAGD_PORT: ["options.flagd-port", "8013"],
  FLAGD_OFREP_PORT: ["options.flagd-ofrep-port", "8016"],
  FLAGD_SYNC_PORT: ["options.flagd-sync-port", "8015"],
  FLAGD_MANAGEMENT_PORT: ["options.flagd-management-port", "8014"],
  FLAGS_VALIDATION_ENABLED: ["options.flags-validation", "true"],
  IN_PROCESS_PORT: ["options.in-process-port", "8015"],
  IN_PROCESS_HOST: ["options.in-process-host", "localhost"],
  IN_PROCESS_SOCKET_PATH: ["options.in-process-socket-path", ""],
  IN_PROCESS_TLS: ["options.in-process-tls", "false"],
  IN_PROCESS_OFFLINE_FLAG_SOURCE_PATH: ["options.in-process-offline-flag-source-path", ""],
  IN_PROCESS_SELECTOR: ["options.in-process-selector", ""],
  IN_PROCESS_CACHE: ["options.in-process-cache", "lru"],
  IN_PROCESS_CACHE_MAX_SIZE: ["options.in-process-cache-max-size", "1000"],
  IN_PROCESS_ENV_VAR_PREFIX: ["options.in-process-env-var-prefix", "FLAGD"],
};

/** Its arguments, likewise. */
const flags: typeof variables = {
  "--sidecar-cpu-limit": ["options.sidecar-cpu-limit", "500m"],
  "--sidecar-cpu-request": ["options.sidecar-cpu-request", "200m"],
  "--sidecar-ram-limit": ["options.sidecar-ram-limit", "64Mi"],
  "--sidecar-ram-request": ["options.sidecar-ram-request", "32Mi"],
  "--image-pull-secrets": ["options.image-pull-secrets", ""],
  "--labels": ["options.labels", ""],
  "--annotations": ["options.annotations", ""],
};

const ports: typeof variables = {
  "webhook-server": ["ports.webhook", "9443"],
  "metrics-server": ["ports.metrics", "8080"],
};

interface StockSpec {
  readonly replicas?: number;
  readonly template: {
    readonly spec: {
      readonly hostNetwork?: boolean;
      readonly dnsPolicy?: string;
      readonly containers: readonly {
        readonly name: string;
        readonly args?: readonly string[];
        readonly env?: readonly { readonly name: string; readonly value?: string }[];
        readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
      }[];
    };
  };
}

/**
 * What the open-feature-operator runs with, other than its chart's defaults, as values of our chart: `options.sidecar-port: 8113`. Images are left out: they are to
 * be ours.
 */
export function carriedValues({ spec }: KubeObject): readonly string[] {
  const { replicas = 1, template } = spec as StockSpec;
  const { hostNetwork = false, dnsPolicy = "ClusterFirst", containers } = template.spec;
  const manager = containers.find(({ name }) => name === "manager");
  const { args = [], env = [], ports: open = [] } = manager ?? {};
  return [
    ...env.flatMap(({ name, value = "" }) => carried(variables[name], value)),
    ...args.flatMap((arg) => {
      const [flag = "", ...rest] = arg.split("=");
      // Its chart ends lists with a comma.
      return carried(flags[flag], rest.join("=").replace(/,$/, ""));
    }),
    ...open.flatMap(({ name = "", containerPort }) => carried(ports[name], String(containerPort))),
    ...carried(["hostNetwork", "false"], String(hostNetwork)),
    ...carried(["dnsPolicy", hostNetwork ? "ClusterFirstWithHostNet" : "ClusterFirst"], dnsPolicy),
    ...carried(["replicas", "1"], String(replicas)),
  ];
}

function carried(
  place: readonly [value: string, usual: string] | undefined,
  value: string,
): readonly string[] {
  if (place === undefined || value === place[1]) return [];
  return [`${place[0]}: ${value === "" ? '""' : value}`];
}
