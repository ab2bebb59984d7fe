/** What a metric is called in OpenTelemetry. */
export interface OtelName {
  readonly name: string;
  /** In UCUM, as flagd has it. */
  readonly unit: string;
  /** Whether it is an up-down counter: a gauge of Prometheus whose values add up over processes. */
  readonly isUpDown?: boolean;
}

/** flagd's metrics: the names that Prometheus gets are derived from these. */
const named: Readonly<Record<string, OtelName>> = {
  feature_flag_flagd_impression_total: { name: "feature_flag.flagd.impression", unit: "{impression}" },
  feature_flag_flagd_result_reason_total: { name: "feature_flag.flagd.result.reason", unit: "{reason}" },
  feature_flag_flagd_sync_active_streams: {
    name: "feature_flag.flagd.sync.active_streams",
    unit: "{stream}",
    isUpDown: true,
  },
  feature_flag_flagd_sync_stream_duration_seconds: {
    name: "feature_flag.flagd.sync.stream.duration",
    unit: "s",
  },
  http_server_request_duration_seconds: { name: "http.server.request.duration", unit: "s" },
  http_server_response_body_size_bytes: { name: "http.server.response.body.size", unit: "By" },
  http_server_request_body_size_bytes: { name: "http.server.request.body.size", unit: "By" },
  rpc_server_duration_milliseconds: { name: "rpc.server.duration", unit: "ms" },
  rpc_server_request_size_bytes: { name: "rpc.server.request.size", unit: "By" },
  rpc_server_response_size_bytes: { name: "rpc.server.response.size", unit: "By" },
  rpc_server_requests_per_rpc: { name: "rpc.server.requests_per_rpc", unit: "{count}" },
  rpc_server_responses_per_rpc: { name: "rpc.server.responses_per_rpc", unit: "{count}" },
  http_server_active_requests: { name: "http.server.active_requests", unit: "{request}", isUpDown: true },
};

const units: readonly (readonly [suffix: string, unit: string])[] = [
  ["_seconds", "s"],
  ["_bytes", "By"],
];

/** flagd's metrics get its names, and ours lose only what a collector adds for Prometheus again. */
export function otelName(prometheusName: string): OtelName {
  const known = named[prometheusName];
  if (known !== undefined) return known;
  let name = prometheusName.replace(/_total$/, "");
  let unit = "";
  for (const [suffix, itsUnit] of units) {
    if (!name.endsWith(suffix)) continue;
    name = name.slice(0, -suffix.length);
    unit = itsUnit;
  }
  return { name, unit };
}

/** Labels of Prometheus whose attribute has dots in other places than at each underscore, or none. */
const attributes: Readonly<Record<string, string>> = {
  service_name: "service.name",
  feature_flag_key: "feature_flag.key",
  feature_flag_result_variant: "feature_flag.result.variant",
  feature_flag_reason: "feature_flag.reason",
  feature_flag_provider_name: "feature_flag.provider.name",
  otel_metric_overflow: "otel.metric.overflow",
  http_route: "http.route",
  http_request_method: "http.request.method",
  http_response_status_code: "http.response.status_code",
  url_scheme: "url.scheme",
  rpc_service: "rpc.service",
  rpc_method: "rpc.method",
  rpc_system: "rpc.system",
  rpc_grpc_status_code: "rpc.grpc.status_code",
  rpc_grpc_web_status_code: "rpc.grpc_web.status_code",
  rpc_connect_rpc_error_code: "rpc.connect_rpc.error_code",
  network_protocol_name: "network.protocol.name",
  network_protocol_version: "network.protocol.version",
  server_address: "server.address",
};

/** The attribute that a label stands for; ours keep their names. */
export function otelAttribute(label: string): string {
  return attributes[label] ?? label;
}
