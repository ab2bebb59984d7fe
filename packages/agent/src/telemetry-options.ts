import { choice, duration, longestMs, option, optionGroup, textOption } from "@bunting/runtime";

const protocol = choice("grpc", "http/protobuf");

/** The options about traces, and about metrics that are sent; a part of `agentOptionTable`. */
export const telemetryOptions = optionGroup("Telemetry", {
  metricsExporter: textOption(
    "otel also sends the metrics to --otel-collector-uri every 2 s; Prometheus reads them on the management port in any case.",
    { short: "t", env: ["FLAGD_METRICS_EXPORTER"] },
  ),
  otelCollectorUri: textOption(
    "An OpenTelemetry collector to send traces to: HOST:PORT, or a URL. The OTEL_ variables for headers, compression, timeouts, intervals, the sampler and resource attributes apply as well. What it has not taken within 2 s when the agent ends is dropped.",
    { short: "o", env: ["FLAGD_OTEL_COLLECTOR_URI"] },
  ),
  otelProtocol: option(
    // The third protocol of OpenTelemetry may be set for everything in a cluster, and must not end an agent. Its URLs are those of the second.
    {
      ...protocol,
      fromVariable: (value) => (value === "http/json" ? "http/protobuf" : protocol.fromTexts([value])),
    },
    "grpc",
    "How the collector is spoken to. Its usual ports are 4317 for gRPC and 4318 for HTTP. http/json in the variable is taken for http/protobuf.",
    { env: ["OTEL_EXPORTER_OTLP_PROTOCOL"] },
  ),
  otelCertPath: textOption("Client certificate for the collector, a PEM file.", {
    short: "D",
    env: ["FLAGD_OTEL_CERT_PATH"],
  }),
  otelKeyPath: textOption("Client key for the collector, a PEM file.", {
    short: "K",
    env: ["FLAGD_OTEL_KEY_PATH"],
  }),
  otelCaPath: textOption(
    "Certificate authority of the collector, a PEM file; with this or a client certificate, or a URL of https, the connection is encrypted.",
    { short: "A", env: ["FLAGD_OTEL_CA_PATH"] },
  ),
  otelReloadInterval: option(
    duration({ minMs: 0, maxMs: longestMs, zero: "off" }),
    3_600_000,
    "How often the certificates for the collector are read again; 0 means never.",
    { short: "I", env: ["FLAGD_OTEL_RELOAD_INTERVAL"] },
  ),
});
