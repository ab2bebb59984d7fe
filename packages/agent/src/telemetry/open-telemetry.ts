import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type TextMapGetter,
} from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { hostname } from "node:os";
import { cut, messageOf, RateLimitedLog, within } from "@bunting/runtime";
import type { RequestHeaders } from "../api/request-headers.js";
import type { Collector } from "./collector.js";
import { CollectorConnection } from "./collector-connection.js";
import { registryProducer } from "./registry-producer.js";
import type { TelemetryDependencies } from "./telemetry-dependencies.js";
import { positiveFromEnv, replacedVariables } from "./otel-variables.js";
import type { SpanAttributes, StartedSpan } from "./tracing.js";

/** As in flagd, unless OTEL_METRIC_EXPORT_INTERVAL says otherwise. */
const metricsEveryMs = 2_000;
const headerGetter: TextMapGetter<RequestHeaders> = {
  get: (headers, name) => headers.header(name),
  keys: () => [],
};
/** How long the end of the process may wait for a collector. Its calls may take 10 s each. */
const flushTimeoutMs = 2_000;
/** The queue of finished spans, as in the SDK. */
const maxQueuedSpans = 2_048;

interface StartOptions extends TelemetryDependencies {
  readonly collector: Collector;
}

/** The OpenTelemetry SDK, set up. The file that imports it: everything else of the agent loads without. */
export class OpenTelemetry {
  readonly #connection: CollectorConnection;
  readonly #tracers: BasicTracerProvider;
  readonly #meters: MeterProvider | undefined;
  readonly #propagator = new W3CTraceContextPropagator();
  readonly #name: string;
  readonly #options: StartOptions;

  private constructor(options: StartOptions, connection: CollectorConnection) {
    const { serviceName, serviceVersion, registry, collector } = options;
    const resource = defaultResource()
      .merge(
        resourceFromAttributes({
          "service.name": serviceName,
          "service.version": serviceVersion,
          "host.name": hostname(),
        }),
      )
      .merge(detectResources({ detectors: [envDetector] }));
    this.#options = options;
    this.#name = serviceName;
    this.#connection = connection;
    // The SDK takes any number: with batches of none it fills the heap.
    const maxQueueSize = positiveFromEnv("OTEL_BSP_MAX_QUEUE_SIZE", maxQueuedSpans);
    const maxExportBatchSize = positiveFromEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", Math.min(512, maxQueueSize));
    this.#tracers = new BasicTracerProvider({
      resource,
      spanProcessors: [new BatchSpanProcessor(connection.traces, { maxQueueSize, maxExportBatchSize })],
    });
    if (!collector.sendsMetrics) return;
    const interval = positiveFromEnv("OTEL_METRIC_EXPORT_INTERVAL", metricsEveryMs);
    const reader = new PeriodicExportingMetricReader({
      exporter: connection.metrics,
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(interval, flushTimeoutMs),
      metricProducers: [registryProducer(registry, { name: serviceName, version: serviceVersion })],
    });
    this.#meters = new MeterProvider({ resource, readers: [reader] });
  }

  /** Never rejects for a collector that is away: what can't be sent is dropped, with a warning a minute. */
  static async start(options: StartOptions): Promise<OpenTelemetry> {
    const log = new RateLimitedLog(options.logger, options.clock);
    const { uri } = options.collector;
    for (const warning of replacedVariables(process.env)) options.logger.warn(warning);
    // The libraries say what about, and then why.
    const reasonIn = (words: readonly unknown[]): string => cut(words.map(messageOf).join(" "));
    const failed = (...words: readonly unknown[]): void => {
      const reason = reasonIn(words);
      log.warn(
        "telemetry",
        { collector: uri, reason },
        "telemetry could not be sent to the collector, and was dropped",
      );
    };
    const warned = (...words: readonly unknown[]): void =>
      log.warn("warning", { collector: uri, reason: reasonIn(words) }, "OpenTelemetry's libraries warn", 10);
    setGlobalErrorHandler(failed);
    diag.setLogger(
      {
        error: failed,
        warn: warned,
        info: () => undefined,
        debug: () => undefined,
        verbose: () => undefined,
      },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    return new OpenTelemetry(options, await CollectorConnection.open(options.collector, options));
  }

  serve(name: string, headers: RequestHeaders, attributes: SpanAttributes): StartedSpan {
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, headerGetter);
    return this.#start(name, SpanKind.SERVER, attributes, parent);
  }

  /** Sends what there is. What the collector does not take in time is dropped; its calls may still be under way then. */
  async stop(): Promise<void> {
    const { clock, logger, collector } = this.#options;
    const sent = Promise.allSettled([this.#tracers.shutdown(), this.#meters?.shutdown()]);
    if (!(await within(flushTimeoutMs, sent, clock)))
      logger.warn(
        { collector: collector.uri },
        `the collector has not taken the last telemetry within ${flushTimeoutMs / 1_000} s: it was dropped`,
      );
    this.#connection.close();
    diag.disable();
  }

  #start(name: string, kind: SpanKind, attributes: SpanAttributes, parent: Context): StartedSpan {
    const span = this.#tracers.getTracer(this.#name).startSpan(name, { kind, attributes }, parent);
    const context = trace.setSpan(parent, span);
    return {
      child: (childName, childAttributes) =>
        this.#start(childName, SpanKind.INTERNAL, childAttributes, context),
      end: (more, error) => endSpan(span, more, error),
    };
  }
}

function endSpan(span: Span, attributes: SpanAttributes, error: Error | undefined): void {
  span.setAttributes(attributes);
  if (error !== undefined) {
    const message = cut(error.message);
    span.recordException({ name: error.name, message });
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}
