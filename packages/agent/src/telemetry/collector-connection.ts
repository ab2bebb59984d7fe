import type { Agent } from "node:http";
import { credentials, type ChannelCredentials } from "@grpc/grpc-js";
import { OTLPMetricExporter as GrpcMetricExporter } from "@opentelemetry/exporter-metrics-otlp-grpc";
import { OTLPMetricExporter as HttpMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as GrpcTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as HttpTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { PushMetricExporter } from "@opentelemetry/sdk-metrics";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { AgentError } from "../agent-error.js";
import { readSmallFile, WatchedFiles, type Clock, type Logger } from "@bunting/runtime";
import { guardGrpcClients } from "@bunting/sync-client/guard";
import { boundedAgent } from "./bounded-agent.js";
import { signalUrl, type Collector } from "./collector.js";
import { positiveFromEnv } from "./otel-variables.js";

// For all clients of grpc-js, before the first of them connects.
guardGrpcClients();

/** Waiting exports of a signal; further ones are dropped. The exporters' 30 could keep 4 MB of answer each. */
const concurrencyLimit = 2;
const maxCertificateBytes = 4 * 1024 * 1024;

/** PEM; undefined where no file is given. */
interface Certificates {
  readonly ca: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly cert: Buffer | undefined;
}

interface Exporters {
  readonly traces: SpanExporter;
  readonly metrics: PushMetricExporter;
}

interface ConnectionOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn">;
}

/** The exporters to one collector. Certificates are read again at an interval, and new exporters take over if one has changed. */
export class CollectorConnection {
  readonly traces: SpanExporter = {
    export: (spans, done) => this.#exporters?.traces.export(spans, done),
    forceFlush: async () => this.#exporters?.traces.forceFlush?.(),
    shutdown: async () => this.#exporters?.traces.shutdown(),
  };
  readonly metrics: PushMetricExporter = {
    export: (metrics, done) => this.#exporters?.metrics.export(metrics, done),
    forceFlush: async () => this.#exporters?.metrics.forceFlush(),
    shutdown: async () => this.#exporters?.metrics.shutdown(),
  };
  readonly #files: WatchedFiles<Certificates>;
  /** Undefined until the certificates have been read. */
  #exporters: Exporters | undefined;

  private constructor(collector: Collector, options: ConnectionOptions) {
    const { files, reloadIntervalMs, uri } = collector;
    this.#files = new WatchedFiles({
      ...options,
      intervalMs: reloadIntervalMs === 0 ? Infinity : reloadIntervalMs,
      paths: Object.values(files).filter((file) => file !== ""),
      name: "certificate for the collector",
      effect: "telemetry is sent with it from now on",
      fields: { collector: uri },
      read: () => readCertificates(collector),
      use: (certificates) => {
        const previous = this.#exporters;
        this.#exporters = createExporters(collector, certificates);
        void Promise.allSettled([previous?.traces.shutdown(), previous?.metrics.shutdown()]);
      },
      summarize: () => ({}),
    });
  }

  /** @throws AgentError OPTION_INVALID if a certificate can't be read. */
  static async open(collector: Collector, options: ConnectionOptions): Promise<CollectorConnection> {
    const connection = new CollectorConnection(collector, options);
    try {
      await connection.#files.start();
    } catch (cause) {
      // A header may be a token, which grpc-js quotes.
      const reason = (cause as Error).message.replace(/ value ".*" contains/s, " value contains");
      const message = `a certificate for the collector (--otel-cert-path, --otel-key-path, --otel-ca-path) or a header (OTEL_EXPORTER_OTLP_HEADERS) can't be used: ${reason}`;
      throw AgentError.optionInvalid(message);
    }
    return connection;
  }

  /** To be called after the exporters have been shut down. */
  close(): void {
    this.#files.stop();
  }
}

function createExporters(collector: Collector, certificates: Certificates): Exporters {
  const common = (signal: "traces" | "metrics") => ({
    url: signalUrl(collector, signal),
    concurrencyLimit,
    // The SDK takes any number: with a deadline that is too far away, grpc-js ends the process.
    timeoutMillis: positiveFromEnv(
      `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_TIMEOUT`,
      positiveFromEnv("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000),
    ),
  });
  if (collector.protocol === "grpc") {
    const channel = channelCredentials(collector, certificates);
    return {
      traces: new GrpcTraceExporter({ ...common("traces"), credentials: channel }),
      metrics: new GrpcMetricExporter({ ...common("metrics"), credentials: channel }),
    };
  }
  const { ca, key, cert } = certificates;
  const tls = Object.fromEntries(Object.entries({ ca, key, cert }).filter(([, pem]) => pem !== undefined));
  const httpAgentOptions = (scheme: string): Agent => boundedAgent(scheme, { keepAlive: true, ...tls });
  return {
    traces: new HttpTraceExporter({ ...common("traces"), httpAgentOptions }),
    metrics: new HttpMetricExporter({ ...common("metrics"), httpAgentOptions }),
  };
}

function channelCredentials({ isSecure }: Collector, { ca, key, cert }: Certificates): ChannelCredentials {
  return isSecure
    ? credentials.createSsl(ca ?? null, key ?? null, cert ?? null)
    : credentials.createInsecure();
}

async function readCertificates({ files }: Collector): Promise<Certificates> {
  const read = async (file: string): Promise<Buffer | undefined> => {
    if (file === "") return undefined;
    return readSmallFile(file, maxCertificateBytes).catch((cause: unknown) => {
      throw new Error(`${file}: ${(cause as Error).message}`, { cause });
    });
  };
  const [ca, key, cert] = await Promise.all([read(files.ca), read(files.key), read(files.cert)]);
  return { ca, key, cert };
}
