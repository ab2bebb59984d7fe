import { gzipSync } from "node:zlib";
import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { PeerMemory } from "../limits/peer-memory.js";
import { ReadFairness } from "../limits/read-fairness.js";
import {
  bytesStreaming,
  bytesUnary,
  eventually,
  grpcHeaders,
  http2Client,
  ManualClock,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  type RawClient,
} from "@bunting/test/support/grpc-port.js";
import { refusals, type RefusalReason } from "@bunting/http2/status";
import type { PortListener } from "./port-listener.js";
import type { DropReason, PortListenerOptions } from "./port-listener-options.js";
import { serverMetrics } from "./server-metrics.js";

const echo = bytesUnary("/t.T/Echo", (request) => Promise.resolve(request));
const flood = bytesStreaming("/t.T/Flood", (_request, out) => {
  out.write(Buffer.alloc(200_000));
});
const mebibyte = 1024 * 1024;
const stepMs = 100;

/** Each limit is met on a real port, and counted. */
describe("requests that a limit refuses", () => {
  releaseAfterEach();

  let clock: ManualClock;
  let refused: RefusalReason[];
  let dropped: DropReason[];
  let held: number;

  beforeEach(() => {
    clock = new ManualClock();
    refused = [];
    dropped = [];
    held = 0;
  });

  function open(options: Partial<PortListenerOptions> = {}): Promise<PortListener> {
    return serve([echo, flood], {
      onRefused: (reason) => refused.push(reason),
      onDropped: (reason) => dropped.push(reason),
      onReadingResumed: () => held++,
      keepalive: { intervalMs: 0, timeoutMs: 2 * stepMs, clock },
      server: { clock, messages: { maxMessageBytes: mebibyte } },
      ...options,
    });
  }

  async function connected(listener: PortListener, ...frames: readonly Buffer[]): Promise<RawClient> {
    const client = await rawClient(listener);
    client.send(Buffer.concat([wire.preface, wire.settings(), ...frames]));
    return client;
  }

  async function isRefused(reason: RefusalReason): Promise<void> {
    await eventually(() => refused.length > 0, reason);
    expect(new Set(refused)).to.deep.equal(new Set([reason]));
  }

  const prefix = (bytes: number, flag = 0): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = flag;
    head.writeUInt32BE(bytes, 1);
    return head;
  };
  const long = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, "x".repeat(100)]));

  it("headers: before the client has acknowledged SETTINGS", async () => {
    await connected(await open({ limits: { maxHeaderBytes: 300 } }), wire.headers(1, "/t.T/Echo", long));
    await isRefused("headers");
  });

  it("headers: after the client has acknowledged SETTINGS, and invalid ones", async () => {
    const listener = await open({ limits: { maxHeaderBytes: 300 } });
    await connected(listener, wire.settingsAck(), wire.headers(1, "/t.T/Echo", long));
    await isRefused("headers");
    await connected(listener, wire.settingsAck(), wire.headers(1, "/t.T/Echo", { Upper: "case" }));
    await eventually(() => refused.length === 2);
    await isRefused("headers");
  });

  it("headers: over HTTP/1.1", async () => {
    const client = await rawClient(
      await open({ limits: { maxHeaderBytes: 300 }, http: (_, to) => to.end() }),
    );
    client.send(`GET / HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`);
    await isRefused("headers");
  });

  it("message_size: announced, and decompressed", async () => {
    const listener = await open();
    await connected(listener, wire.headers(1, "/t.T/Echo"), wire.data(1, prefix(2 * mebibyte)));
    await isRefused("message_size");
    const bomb = gzipSync(Buffer.alloc(2 * mebibyte));
    const gzip = wire.headers(1, "/t.T/Echo", { "grpc-encoding": "gzip" });
    await connected(listener, gzip, wire.data(1, Buffer.concat([prefix(bomb.length, 1), bomb])));
    await eventually(() => refused.length === 2);
    await isRefused("message_size");
  });

  it("message_timeout", async () => {
    const listener = await open();
    await connected(listener, wire.headers(1, "/t.T/Echo"), wire.data(1, prefix(10), 0));
    await eventually(() => [...listener.sessions].some(({ streams }) => streams.length === 1));
    clock.advance(20_000);
    await isRefused("message_timeout");
  });

  it("request_timeout", async () => {
    const listener = await open({ http: (_, to) => to.end(), headerTimeoutMs: 20 });
    (await rawClient(listener)).send("PRI * HT");
    await isRefused("request_timeout");
    (await rawClient(listener)).send("GET / HTTP/1.1\r\n");
    await eventually(() => refused.length === 2);
    await isRefused("request_timeout");
  });

  it("unfinished_messages", async () => {
    const listener = await open();
    const session = http2Client(listener);
    for (let count = 0; count < 6; count++) {
      const request = session.request(grpcHeaders("/t.T/Echo"));
      request.on("error", () => undefined);
      request.write(Buffer.concat([prefix(mebibyte), Buffer.alloc(mebibyte - 1)]));
    }
    await isRefused("unfinished_messages");
  });

  it("pipelining", async () => {
    const client = await rawClient(await open({ http: () => undefined }));
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(300));
    await isRefused("pipelining");
  });

  it("stalled", async () => {
    const listener = await open({ stall: { timeoutMs: 800, clock } });
    await connected(listener, wire.headers(1, "/t.T/Flood"), wire.data(1, Buffer.alloc(5)));
    await eventually(() => [...listener.sessions].some(({ streams }) => streams.length === 1));
    await eventually(() => {
      clock.advance(stepMs);
      return refused.length > 0;
    });
    await isRefused("stalled");
  });

  it("memory", async () => {
    const listener = await open({ memory: new PeerMemory(1) });
    await connected(listener, wire.headers(1, "/t.T/Echo"), wire.data(1, Buffer.alloc(5)));
    await isRefused("memory");
  });

  it("shows how often connections were held", async () => {
    const listener = await open({ turns: new ReadFairness({ perConnection: 2 }) });
    const requests = Array.from({ length: 20 }, (_, index) => [
      wire.headers(2 * index + 1, "/t.T/Echo"),
      wire.data(2 * index + 1, Buffer.alloc(5)),
    ]);
    await connected(listener, ...requests.flat());
    await eventually(() => held > 0);
    expect(refused).to.deep.equal([]);
  });

  it("counts a connection with too many resets as one that violates the protocol", async () => {
    const listener = await open();
    const resets = Array.from({ length: 1_500 }, (_, index) => [
      wire.headers(2 * index + 1, "/t.T/Echo"),
      wire.rstStream(2 * index + 1),
    ]);
    await connected(listener, ...resets.flat());
    await eventually(() => {
      clock.advance(stepMs);
      return dropped.length > 0;
    });
    expect(dropped).to.deep.equal(["protocol_error"]);
  });
});

describe("the metrics of limits", () => {
  it("have a series for each reason from the start, and the values reported", async () => {
    const registry = createRegistry(false);
    const metrics = serverMetrics("x", "server").create(registry);
    metrics.peerMemory(() => ({ bytes: 5, budgetBytes: 7, refusesNew: true }));
    metrics.requestRefused("message_size");
    metrics.readingHeld();
    metrics.streamLimitReached();
    const text = await registry.metrics();
    for (const reason of Object.keys(refusals))
      expect(text).to.contain(
        `x_requests_refused_total{reason="${reason}"} ${reason === "message_size" ? 1 : 0}\n`,
      );
    for (const line of [
      "peer_memory_bytes 5",
      "peer_memory_budget_bytes 7",
      "refuses_new_connections 1",
      "reading_held_total 1",
      "stream_limit_total 1",
    ])
      expect(text).to.contain(`x_${line}\n`);
  });
});
