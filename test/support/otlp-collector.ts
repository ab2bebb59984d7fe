import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { EventQueue } from "./event-queue.js";
import { freePort } from "./free-port.js";

interface KeyValue {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: string;
    readonly doubleValue?: number;
  };
}

/** A span as it was received. Ids are in hexadecimal, `parentId` is empty without a parent. */
export interface ReceivedSpan {
  readonly name: string;
  /** 2 is a server's, 1 an internal one. */
  readonly kind: number;
  readonly traceId: string;
  readonly id: string;
  readonly parentId: string;
  readonly attributes: Attributes;
  /** 2 is an error. */
  readonly status: number;
  readonly resource: Attributes;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: "gauge" | "sum" | "histogram";
  readonly isMonotonic: boolean;
  readonly points: readonly {
    readonly attributes: Attributes;
    readonly value: number;
    /** Of a histogram. */
    readonly counts: readonly number[];
    readonly bounds: readonly number[];
  }[];
}

export type Attributes = Readonly<Record<string, string | number>>;

interface Point {
  readonly attributes?: readonly KeyValue[];
  readonly asDouble?: number;
  readonly count?: string;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}

interface ExportRequest {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly kind: number;
        readonly traceId: Buffer;
        readonly spanId: Buffer;
        readonly parentSpanId: Buffer;
        readonly attributes: readonly KeyValue[];
        readonly status: { readonly code: number } | null;
      }[];
    }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly unit: string;
        readonly gauge: { readonly dataPoints: readonly Point[] } | null;
        readonly sum: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean } | null;
        readonly histogram: { readonly dataPoints: readonly Point[] } | null;
      }[];
    }[];
  }[];
}

const definitions = loadSync(path.join(import.meta.dirname, "otlp.proto"), { defaults: true });
const loaded = loadPackageDefinition(definitions) as unknown as {
  opentelemetry: { proto: Record<"Traces" | "Metrics", ServiceClientConstructor> };
};
const [traces, metrics] = ["Traces" as const, "Metrics" as const].map((name) => {
  const exported = loaded.opentelemetry.proto[name].service["Export"];
  if (exported === undefined) throw new Error(`otlp.proto has no ${name}.Export`);
  return exported;
});
if (traces === undefined || metrics === undefined) throw new Error("otlp.proto is not whole");

/** Receives what an OpenTelemetry collector does: OTLP over gRPC or HTTP. */
export class OtlpCollector {
  readonly spans = new EventQueue<ReceivedSpan>();
  /** The metrics of each export. */
  readonly exports = new EventQueue<readonly ReceivedMetric[]>();
  readonly #stop: () => Promise<void> | void;
  readonly port: number;

  private constructor(port: number, stop: () => Promise<void> | void) {
    this.port = port;
    this.#stop = stop;
  }

  /** Over gRPC; with `tls`, clients need a certificate of that authority. */
  static async grpc(
    tls?: { readonly ca: string; readonly cert: string; readonly key: string },
    given?: number,
  ): Promise<OtlpCollector> {
    const port = given ?? (await freePort());
    const server = new Server();
    const queues: { collector?: OtlpCollector } = {};
    const receive = (call: ServerUnaryCall<ExportRequest, object>, done: sendUnaryData<object>): void => {
      queues.collector?.receive(call.request);
      done(null, {});
    };
    const at = (signal: "trace" | "metrics", name: string): string =>
      `/opentelemetry.proto.collector.${signal}.v1.${name}/Export`;
    server.addService(
      {
        traces: { ...traces, path: at("trace", "TraceService") },
        metrics: { ...metrics, path: at("metrics", "MetricsService") },
      } as unknown as ServiceClientConstructor["service"],
      { traces: receive, metrics: receive },
    );
    const credentials =
      tls === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(
            Buffer.from(tls.ca),
            [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }],
            true,
          );
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, credentials, (error, itsPort) =>
        error === null ? resolve(itsPort) : reject(error),
      );
    });
    queues.collector = new OtlpCollector(bound, () => server.forceShutdown());
    return queues.collector;
  }

  /** Over HTTP with protobuf. */
  static async http(): Promise<OtlpCollector> {
    const server: HttpServer = createServer((request, response) => {
      const signal =
        request.url === "/v1/traces" ? traces : request.url === "/v1/metrics" ? metrics : undefined;
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (signal === undefined || request.headers["content-type"] !== "application/x-protobuf") {
          response.writeHead(404).end();
          return;
        }
        collector.receive(signal.requestDeserialize(Buffer.concat(chunks)) as ExportRequest);
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const collector = new OtlpCollector((server.address() as AddressInfo).port, async () => {
      server.close().closeAllConnections();
      await once(server, "close");
    });
    return collector;
  }

  async stop(): Promise<void> {
    await this.#stop();
  }

  /** Called by the servers only. */
  receive({ resourceSpans = [], resourceMetrics = [] }: ExportRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          name: span.name,
          kind: span.kind,
          traceId: span.traceId.toString("hex"),
          id: span.spanId.toString("hex"),
          parentId: span.parentSpanId.toString("hex"),
          attributes: attributesOf(span.attributes),
          status: span.status?.code ?? 0,
          resource: attributesOf(resource.attributes),
        });
      }
    }
    for (const { scopeMetrics } of resourceMetrics) {
      this.exports.push(
        scopeMetrics
          .flatMap(({ metrics: received }) => received)
          .map(({ name, unit, gauge, sum, histogram }) => ({
            name,
            unit,
            kind: histogram !== null ? "histogram" : sum !== null ? "sum" : "gauge",
            isMonotonic: sum?.isMonotonic ?? false,
            points: (histogram ?? sum ?? gauge)?.dataPoints.map(pointOf) ?? [],
          })),
      );
    }
  }
}

function pointOf(point: Point): ReceivedMetric["points"][number] {
  return {
    attributes: attributesOf(point.attributes ?? []),
    value: point.asDouble ?? Number(point.count),
    counts: (point.bucketCounts ?? []).map(Number),
    bounds: point.explicitBounds ?? [],
  };
}

function attributesOf(pairs: readonly KeyValue[]): Attributes {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue ?? Number(value.intValue)]),
  );
}
