import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { expect } from "chai";
import { Authority } from "../support/certificates.js";
import { isReady, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { OtlpCollector, type ReceivedMetric, type ReceivedSpan } from "../support/otlp-collector.js";
import { agentImage, binaries, ServiceProcess } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const flags = JSON.stringify({
  flags: { banner: { state: "ENABLED", variants: { on: "hello", off: "" }, defaultVariant: "on" } },
});
const traceId = "0af7651916cd43dd8448eb211c80319c";
const clientSpan = "b7ad6b7169203331";
/** Between two exports of metrics, in milliseconds, unless a variable says otherwise. */
const usualPaceMs = 2_000;

type Agent = Awaited<ReturnType<typeof startAgent>>;

/** With the options that docs/telemetry.md has. */
describe("telemetry to an OpenTelemetry collector", () => {
  let directory: TempDirectory;
  let agent: Agent | undefined;
  let collector: OtlpCollector | undefined;

  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("flags.json", flags);
  });
  afterEach(async () => {
    const exitCode = await agent?.process.stop();
    await collector?.stop();
    directory.remove();
    expect(exitCode ?? 0, agent?.process.output).to.equal(0);
    agent = undefined;
    collector = undefined;
  });

  async function start(args: readonly string[], env: Record<string, string> = {}): Promise<Agent> {
    const variables = { OTEL_BSP_SCHEDULE_DELAY: "50", OTEL_METRIC_EXPORT_INTERVAL: "100", ...env };
    const file = path.join(directory.path, "flags.json");
    agent = await startAgent(["--uri", `file:${file}`, ...args], { env: variables });
    await eventually(() => isReady(agent?.management ?? ""), "the flags");
    return agent;
  }

  /** An evaluation as a Connect client sends it, within a trace. */
  async function resolve(key: string): Promise<number> {
    const response = await fetch(`http://${agent?.evaluation}/flagd.evaluation.v1.Service/ResolveString`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent: `00-${traceId}-${clientSpan}-01` },
      body: JSON.stringify({ flagKey: key, context: {} }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  async function spans(count: number): Promise<ReceivedSpan[]> {
    const received: ReceivedSpan[] = [];
    while (received.length < count) {
      const span = await collector?.spans.nextEvent("a span");
      if (span !== undefined) received.push(span);
    }
    return received;
  }

  async function metric(name: string, isWhole: (metric: ReceivedMetric) => boolean): Promise<ReceivedMetric> {
    for (;;) {
      const exported = await collector?.exports.nextEvent("metrics");
      const found = exported?.find((one) => one.name === name);
      if (found !== undefined && isWhole(found)) return found;
    }
  }

  it("has the spans of an evaluation over gRPC, within the client's trace, and flagd's metrics", async () => {
    collector = await OtlpCollector.grpc();
    const uri = `127.0.0.1:${collector.port}`;
    await start(["--metrics-exporter", "otel", "--otel-collector-uri", uri]);
    expect(await resolve("banner")).to.equal(200);

    const [evaluation, served] = await spans(2);
    expect(served).to.include({ name: "flagd.evaluation.v1.Service/ResolveString", kind: 2, status: 0 });
    expect(served).to.include({ traceId, parentId: clientSpan });
    expect(served?.attributes).to.deep.equal({
      "rpc.service": "flagd.evaluation.v1.Service",
      "rpc.method": "ResolveString",
    });
    expect(served?.resource).to.include({ "service.name": "flagd" });
    expect(evaluation).to.include({ name: "flagEvaluationService(resolveString)", kind: 1, traceId });
    expect(evaluation?.parentId).to.equal(served?.id);
    expect(evaluation?.attributes).to.deep.equal({
      "feature_flag.key": "banner",
      "feature_flag.provider.name": "flagd",
      "feature_flag.result.variant": "on",
      "feature_flag.result.reason": "STATIC",
    });

    const impression = await metric("feature_flag.flagd.impression", ({ points }) => points.length > 0);
    expect(impression).to.include({ kind: "sum", isMonotonic: true, unit: "{impression}" });
    expect(impression.points[0]?.value).to.equal(1);
    expect(impression.points[0]?.attributes).to.include({
      "feature_flag.key": "banner",
      "feature_flag.result.variant": "on",
      "feature_flag.reason": "STATIC",
    });
    const duration = await metric("http.server.request.duration", ({ points }) => points.length > 0);
    expect(duration).to.include({ kind: "histogram", unit: "s" });
    const [point] = duration.points;
    expect(point?.counts).to.have.length((point?.bounds.length ?? 0) + 1);
    expect(point?.counts.reduce((sum, each) => sum + each)).to.equal(point?.value);
  });

  it("has what flagd counts up and down as sums that are not monotonic", async () => {
    collector = await OtlpCollector.grpc();
    const { sync } = await start([
      ...["--metrics-exporter", "otel", "--otel-collector-uri", `127.0.0.1:${collector.port}`],
    ]);
    const client = new StockSyncClient(sync);
    const stream = client.subscribe();
    await stream.messages.nextEvent("the flags");
    const open = await metric("feature_flag.flagd.sync.active_streams", ({ points }) =>
      points.some(({ value }) => value === 1),
    );
    expect(open).to.include({ kind: "sum", isMonotonic: false, unit: "{stream}" });
    stream.cancel();
    client.close();
    await metric("feature_flag.flagd.sync.active_streams", ({ points }) =>
      points.every(({ value }) => value === 0),
    );
    expect(await resolve("banner")).to.equal(200);
    const requests = await metric("http.server.active_requests", ({ points }) => points.length > 0);
    expect(requests).to.include({ kind: "sum", isMonotonic: false, unit: "{request}" });
    const flagCount = await metric("bunting_agent_store_flags", ({ points }) => points.length > 0);
    expect(flagCount).to.include({ kind: "gauge" });
  });

  it("has what failed as an error where it is not the client's, and OFREP requests by their route", async () => {
    collector = await OtlpCollector.grpc();
    await start(["--otel-collector-uri", `127.0.0.1:${collector.port}`]);
    expect(await resolve("missing")).to.equal(404);
    const [evaluation, served] = await spans(2);
    expect(evaluation?.status).to.equal(2);
    expect(served?.status).to.equal(0);
    expect(served?.attributes).to.include({ "rpc.response.status_code": "NOT_FOUND" });

    const url = `${agent?.ofrep}/ofrep/v1/evaluate/flags/banner`;
    expect((await fetch(url, { method: "POST", body: "{}" })).status).to.equal(200);
    const [ofrep] = await spans(1);
    expect(ofrep).to.include({ name: "POST /ofrep/v1/evaluate/flags/{key}", kind: 2, parentId: "" });
    expect(ofrep?.attributes).to.include({ "http.response.status_code": 200, "feature_flag.key": "banner" });
    // What is left to send, it sends before it ends.
    expect(await agent?.process.stop()).to.equal(0);
    expect(collector.exports.size, "exports of metrics").to.equal(0);
  });

  it("is sent over HTTP where OTEL_EXPORTER_OTLP_PROTOCOL says so", async () => {
    collector = await OtlpCollector.http();
    const uri = `http://127.0.0.1:${collector.port}`;
    await start(["--metrics-exporter", "otel", "--otel-collector-uri", uri], {
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      // An export may take as long as this, and the first one takes long on a busy machine: it would be warned of.
      OTEL_METRIC_EXPORT_INTERVAL: "2000",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
    });
    expect(await resolve("banner")).to.equal(200);
    const [, served] = await spans(2);
    expect(served?.resource).to.include({ "deployment.environment.name": "test" });
    const warned = agent?.process.logs.filter(({ level }) => level === "warn").map(({ msg }) => msg);
    expect(warned).to.deep.equal(["OTEL_EXPORTER_OTLP_ENDPOINT has no effect: use --otel-collector-uri"]);
    await metric("feature_flag.flagd.impression", ({ points }) => points.length > 0);
  });

  it("is encrypted with certificates that are read again", async function () {
    this.timeout(30_000);
    const [authority, next] = [await Authority.create(), await Authority.create()];
    const useCertificates = async (of: Authority): Promise<void> => {
      const { cert, key } = await of.issue();
      directory.replace("ca.pem", of.cert);
      directory.replace("cert.pem", cert);
      directory.replace("key.pem", key);
    };
    const listen = async (of: Authority, port: number): Promise<OtlpCollector> =>
      OtlpCollector.grpc({ ca: of.cert, ...(await of.issue()) }, port);
    await useCertificates(authority);
    collector = await listen(authority, 0);
    const { port } = collector;
    const at = (name: string): string => path.join(directory.path, name);
    await start([
      ...["--otel-collector-uri", `127.0.0.1:${port}`, "--otel-reload-interval", "100ms"],
      ...["--otel-ca-path", at("ca.pem")],
      ...["--otel-cert-path", at("cert.pem"), "--otel-key-path", at("key.pem")],
    ]);
    expect(await resolve("banner")).to.equal(200);
    await spans(2);

    await collector.stop();
    collector = await listen(next, port);
    await useCertificates(next);
    await eventually(async () => {
      await resolve("banner");
      return collector?.spans.size !== 0;
    }, "spans for the collector with a new authority");
  });

  it("is dropped while the collector is away, with one warning, and delays neither answers nor the end", async () => {
    await start(["--metrics-exporter", "otel", "--otel-collector-uri", "127.0.0.1:1"], {
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
    });
    expect(await resolve("banner")).to.equal(200);
    const dropped = "telemetry could not be sent to the collector, and was dropped";
    await agent?.process.nextLog(dropped);
    expect(await resolve("banner")).to.equal(200);
    expect(await agent?.process.stop()).to.equal(0);
    expect(agent?.process.logs.filter(({ msg }) => msg === dropped)).to.have.length(1);
  });

  for (const protocol of ["grpc", "http/protobuf"]) {
    it(`delays the end by no more than 2 s if the collector takes connections and is silent (${protocol})`, async () => {
      const silent = createServer((socket) => socket.on("error", () => undefined).resume());
      await once(silent.listen(0, "127.0.0.1"), "listening");
      try {
        const { port } = silent.address() as AddressInfo;
        const uri = `127.0.0.1:${port}`;
        const args = ["--metrics-exporter", "otel", "--otel-collector-uri", uri, "--otel-protocol", protocol];
        // Without the limit, each call takes the 10 s that the exporters wait.
        await start(args, { OTEL_BSP_SCHEDULE_DELAY: "" });
        expect(await resolve("banner")).to.equal(200);
        expect(await agent?.process.stop(), agent?.process.output).to.equal(0);
        expect(agent?.process.logs.map(({ msg }) => msg)).to.include(
          "the collector has not taken the last telemetry within 2 s: it was dropped",
        );
      } finally {
        silent.close();
      }
    });
  }

  it("is said to be dropped in part with what the collector says of it", async () => {
    // A partial success: of so many spans, or points, that were rejected, and why.
    const answer = Buffer.from([10, 11, 8, 3, 18, 7, ...Buffer.from("no disk")]);
    const picky = createHttpServer((request, response) => {
      request.resume().once("end", () => response.end(answer));
    });
    await once(picky.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = picky.address() as AddressInfo;
      await start(["--otel-collector-uri", `127.0.0.1:${port}`, "--otel-protocol", "http/protobuf"]);
      expect(await resolve("banner")).to.equal(200);
      const line = await agent?.process.nextLog("OpenTelemetry's libraries warn");
      expect(line?.["reason"]).to.contain("no disk").and.contain("3");
    } finally {
      picky.closeAllConnections();
      picky.close();
    }
  });

  it("is sent at the usual pace, with a warning, where a variable has no usable number", async () => {
    collector = await OtlpCollector.grpc();
    const uri = `127.0.0.1:${collector.port}`;
    const variables = ["OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] as const;
    for (const [interval, batch] of [
      ["60s", "0.5"],
      ["0", "-1"],
    ] as const) {
      await start(["--metrics-exporter", "otel", "--otel-collector-uri", uri], {
        OTEL_METRIC_EXPORT_INTERVAL: interval,
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: batch,
      });
      expect(await resolve("banner")).to.equal(200);
      await spans(2);
      const warned = agent?.process.logs.filter(({ msg }) => msg === "OpenTelemetry's libraries warn") ?? [];
      for (const name of variables)
        expect(
          warned.some(({ reason }) => String(reason).includes(name)),
          name,
        ).to.equal(true);
      await collector.exports.nextEvent("the first metrics");
      const sinceMs = performance.now();
      // Spans are sent every 50 ms.
      for (let i = 0; i < 5; i++) {
        expect(await resolve("banner")).to.equal(200);
        await spans(2);
      }
      // One more, because the first may have been late.
      const usual = Math.ceil((performance.now() - sinceMs) / usualPaceMs) + 1;
      expect(collector.exports.size, "other metrics meanwhile").to.be.at.most(usual);
      expect(await agent?.process.stop()).to.equal(0);
      // An agent sends its last metrics as it ends: they are not the first of the next one.
      while (collector.exports.size > 0)
        await collector.exports.nextEvent("metrics of the agent that has ended");
    }
  });

  it("goes on where the variable for the timeout has the largest number there is", async () => {
    collector = await OtlpCollector.grpc();
    await start(["--metrics-exporter", "otel", "--otel-collector-uri", `127.0.0.1:${collector.port}`], {
      OTEL_EXPORTER_OTLP_TIMEOUT: "9223372036854775807",
    });
    expect(await resolve("banner")).to.equal(200);
    await spans(2);
    await collector.exports.nextEvent("metrics");
  });

  it("is refused with a header that can't be sent, of which the agent does not repeat the value", async () => {
    const refused = new ServiceProcess(binaries.agent, {
      args: ["start", "--uri=file:flags.json", "--management-port=0", "--otel-collector-uri=127.0.0.1:1"],
      env: { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20s3cret%0A" },
      image: agentImage,
    });
    expect(await refused.exit).to.equal(1);
    expect(refused.output).to.contain("OTEL_EXPORTER_OTLP_HEADERS").and.not.contain("s3cret");
  });

  it("is refused where the options do not fit together", async () => {
    const refusal = async (...args: readonly string[]): Promise<string> => {
      const refused = new ServiceProcess(binaries.agent, {
        args: ["start", "--uri", "file:flags.json", "--management-port", "0", ...args],
        image: agentImage,
      });
      expect(await refused.exit).to.equal(1);
      return refused.output;
    };
    expect(await refusal("--metrics-exporter", "otel")).to.contain("--otel-collector-uri");
    expect(await refusal("--metrics-exporter", "statsd")).to.contain("statsd is not supported");
    const uri = ["--otel-collector-uri", "127.0.0.1:1"];
    expect(await refusal(...uri, "--otel-cert-path", "a")).to.contain("--otel-key-path");
    expect(await refusal(...uri, "--otel-ca-path", "/no/such/file")).to.contain("/no/such/file");
  });
});
