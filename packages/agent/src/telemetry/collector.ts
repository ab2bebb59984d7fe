import { quoted, type OptionsOf } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import type { telemetryOptions } from "../telemetry-options.js";

/** Destination of telemetry, by the options. */
export interface Collector {
  /** HOST:PORT or a URL. */
  readonly uri: string;
  readonly isSecure: boolean;
  readonly protocol: CollectorOptions["otelProtocol"];
  readonly sendsMetrics: boolean;
  /** PEM files; empty where not given. */
  readonly files: { readonly cert: string; readonly key: string; readonly ca: string };
  /** How often the files are read again, in ms; 0 means never. */
  readonly reloadIntervalMs: number;
}

type CollectorOptions = OptionsOf<typeof telemetryOptions>;

/**
 * The collector that the options name; undefined if no telemetry is to be sent. Traces are sent wherever there is a collector, metrics only
 * with `--metrics-exporter otel`, as flagd does.
 *
 * @throws AgentError OPTION_INVALID
 */
export function collectorOf(options: CollectorOptions): Collector | undefined {
  const { metricsExporter, otelCollectorUri: uri } = options;
  if (metricsExporter !== "" && metricsExporter !== "otel") {
    const message = `--metrics-exporter ${metricsExporter} is not supported: use otel, or leave it out for Prometheus alone`;
    throw AgentError.optionInvalid(message);
  }
  const { otelCertPath: cert, otelKeyPath: key, otelCaPath: ca } = options;
  if (uri === "") {
    if (metricsExporter === "") return undefined;
    throw AgentError.optionInvalid(
      "--metrics-exporter otel needs the address of a collector: --otel-collector-uri HOST:PORT",
    );
  }
  if ((cert === "") !== (key === ""))
    throw AgentError.optionInvalid(
      "--otel-cert-path and --otel-key-path belong together: give both or neither",
    );
  const collector: Collector = {
    uri,
    isSecure: uri.startsWith("https://") || cert !== "" || ca !== "",
    protocol: options.otelProtocol,
    sendsMetrics: metricsExporter === "otel",
    files: { cert, key, ca },
    reloadIntervalMs: options.otelReloadInterval,
  };
  // After a name and a colon there is a port: unix:/PATH and dns:///HOST would be read as hosts of these names.
  if (/^(?!https?:\/\/)[^/]*:\//.test(uri) || !URL.canParse(signalUrl(collector, "traces")))
    throw AgentError.optionInvalid(
      `--otel-collector-uri ${quoted(uri)} is no address of a collector: write HOST:PORT, or https://HOST:PORT`,
    );
  return collector;
}

/**
 * The URL to which a signal is sent: over HTTP each has a path of its own. That for gRPC is always one of https, also in plaintext: its exporters
 * take host and port from it, without the port that is usual for the scheme, and what is left without one goes to port 443.
 */
export function signalUrl({ uri, isSecure, protocol }: Collector, signal: "traces" | "metrics"): string {
  const address = uri.replace(/^https?:\/\//, "");
  if (protocol === "grpc") return `https://${address}`;
  return `${isSecure ? "https" : "http"}://${address.replace(/\/$/, "")}/v1/${signal}`;
}
