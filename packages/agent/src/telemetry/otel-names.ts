/** The name of a metric in OpenTelemetry. */
export interface OtelName {
  readonly name: string;
  /** The unit in UCUM, as flagd writes it. */
  readonly unit: string;
  /** True for an up-down counter, which is a gauge in Prometheus: its values can be added up over processes. */
  readonly isUpDown?: boolean;
}

/** The OpenTelemetry names of flagd's metrics, by the Prometheus names that are derived from them. */
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

/** A metric of flagd has flagd's name. Ours lose only the suffixes that a collector adds again for Prometheus: `_total` to counters alone. */
export function otelName(prometheusName: string, isCounter: boolean): OtelName {
  const known = named[prometheusName];
  if (known !== undefined) return known;
  let name = isCounter ? prometheusName.replace(/_total$/, "") : prometheusName;
  let unit = "";
  for (const [suffix, itsUnit] of units) {
    if (!name.endsWith(suffix)) continue;
    name = name.slice(0, -suffix.length);
    unit = itsUnit;
  }
  return { name, unit };
}

/** The attributes of flagd's labels. A rule cannot derive them: some underscores become dots, others stay. */
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

/** The attribute that a Prometheus label stands for. Our own labels keep their names. */
export function otelAttribute(label: string): string {
  return attributes[label] ?? label;
}
