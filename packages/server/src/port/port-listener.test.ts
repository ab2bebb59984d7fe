import { once } from "node:events";
import { constants } from "node:http2";
import { Agent, request as httpRequest, type IncomingMessage, type RequestListener } from "node:http";
import { createConnection } from "node:net";
import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { frameMessage } from "@bunting/rpc";
import { PeerMemory } from "../limits/peer-memory.js";
import { PortListener } from "./port-listener.js";
import {
  afterwards,
  answerOf,
  bytesStreaming,
  bytesUnary,
  BytesClient,
  eventually,
  grpcHeaders,
  http2Client,
  rawClient,
  recordingLogger,
  releaseAfterEach,
  listen,
  serve,
  wire,
} from "@bunting/test/support/grpc-port.js";

const echo = bytesUnary("/t.T/Echo", (request) => request);
const hold = bytesStreaming("/t.T/Hold", (_request, out) => out.sendHeaders());

/** Answers with the request, including its body. */
const http: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(
      `${request.method ?? ""} ${request.url ?? ""} ${request.headers.host ?? ""} ${Buffer.concat(chunks).toString()}`,
    );
  });
};

async function get(
  listener: PortListener,
  path: string,
  body?: string,
): Promise<{ status: number; body: string }> {
  const request = httpRequest({
    host: "127.0.0.1",
    port: listener.port,
    path,
    method: body === undefined ? "GET" : "POST",
    headers: { host: "example" },
    agent: new Agent({ keepAlive: false }),
  });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
}

describe("PortListener", () => {
  releaseAfterEach();

  it("serves gRPC and HTTP/1.1 on one port", async () => {
    const listener = await serve([echo], { http });
    const client = new BytesClient(listener);
    const [grpc, plain, posted] = await Promise.all([
      client.unary("/t.T/Echo", Buffer.from("ab")),
      get(listener, "/healthz"),
      get(listener, "/flags", "body ".repeat(50_000)),
    ]);
    expect(String(grpc)).to.equal("ab");
    expect(plain).to.deep.equal({ status: 200, body: "GET /healthz example " });
    expect(posted.body).to.equal(`POST /flags example ${"body ".repeat(50_000)}`);
  });

  it("passes HTTP/2 requests that are not gRPC to the HTTP listener", async () => {
    const session = http2Client(await serve([echo], { http }));
    const health = session.request({ ":path": "/healthz" });
    health.end();
    const connect = session.request({ ...grpcHeaders("/t.T/Echo"), "content-type": "application/json" });
    connect.end('{"flagKey":"a"}');
    const [healthAnswer, connectAnswer] = await Promise.all([answerOf(health), answerOf(connect)]);
    expect(healthAnswer.headers[":status"]).to.equal(200);
    expect(String(healthAnswer.body)).to.match(/^GET \/healthz 127\.0\.0\.1:\d+ $/);
    expect(String(connectAnswer.body)).to.match(/^POST \/t\.T\/Echo .* \{"flagKey":"a"\}$/);
  });

  it("answers a request that asks for an upgrade to h2c over HTTP/1.1, and the connection goes on", async () => {
    const client = await rawClient(await serve([echo], { http }));
    const asking =
      "host: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
    client.send(`POST /first HTTP/1.1\r\n${asking}content-length: 2\r\n\r\nhi`);
    await eventually(() => client.received.includes("POST /first a hi"), "the first answer");
    client.send("GET /second HTTP/1.1\r\nhost: a\r\n\r\n");
    await eventually(() => client.received.includes("GET /second a"), "the second answer");
    expect(client.received.match(/^HTTP\/\S+ \d+/gm)).to.deep.equal(["HTTP/1.1 200", "HTTP/1.1 200"]);
  });

  it("survives HTTP/2 requests that are reset while the HTTP listener handles them", async () => {
    let closes = 0;
    const listener = await serve([echo], {
      http: (request, response) => {
        response.on("close", () => (closes += 1));
        request.resume();
        response.write("begun");
      },
    });
    const session = http2Client(listener);
    for (const code of [
      constants.NGHTTP2_CANCEL,
      constants.NGHTTP2_PROTOCOL_ERROR,
      constants.NGHTTP2_INTERNAL_ERROR,
    ]) {
      const request = session.request({ ":method": "POST", ":path": "/upload" });
      request.on("error", () => undefined);
      request.write("part");
      await once(request, "response");
      request.close(code);
    }
    await eventually(() => closes === 3);
    const last = http2Client(listener);
    const request = last.request({ ":method": "POST", ":path": "/upload" });
    request.on("error", () => undefined);
    await once(request, "response");
    last.destroy();
    await eventually(() => closes === 4);
  });

  it("tells HTTP/1.1 clients that the port speaks gRPC, if it speaks gRPC only", async () => {
    const listener = await serve([echo]);
    const { status: code, body } = await get(listener, "/");
    expect(code).to.equal(505);
    expect(body).to.contain("gRPC over HTTP/2");
  });

  it("tells them so though they are still sending, and charges them until they have closed", async () => {
    const memory = new PeerMemory(10_000_000);
    const listener = await serve([echo], { memory });
    const client = createConnection({ port: listener.port, host: "127.0.0.1", allowHalfOpen: true });
    const errors: Error[] = [];
    let answer = "";
    client.on("error", (error) => errors.push(error));
    client.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    afterwards(() => client.destroy());
    client.write("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 100000\r\n\r\n");
    await eventually(() => memory.bytes > 0, "the answer to be sent");
    for (let piece = 0; piece < 20; piece++)
      await new Promise<void>((resolve) => client.write("a".repeat(100), () => setImmediate(resolve)));

    await eventually(() => answer.endsWith("\n"), "the answer");

    expect(answer).to.match(/^HTTP\/1\.1 505 [^]*This port speaks gRPC over HTTP\/2/);
    expect(errors).to.deep.equal([]);
    client.destroy();
    await eventually(() => memory.bytes === 0, "the charge to be released");
  });

  it("speaks HTTP/1.1 only, if it has no gRPC handler", async () => {
    const listener = await listen({ http });
    expect((await get(listener, "/x")).body).to.equal("GET /x example ");
    const client = await rawClient(listener);
    client.send(wire.subscribe("/t.T/Echo"));
    await client.closed;
    expect(client.received).to.match(/^HTTP\/1\.1 400 /);
  });

  it("closes a connection that starts with TLS", async () => {
    const client = await rawClient(await serve([echo], { http }));
    client.send(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]));
    await client.closed;
    expect(client.received).to.equal("");
  });

  it("recognises either protocol byte by byte", async () => {
    const listener = await serve([hold], { http });
    const oneByOne = async (bytes: Buffer): Promise<Awaited<ReturnType<typeof rawClient>>> => {
      const client = await rawClient(listener);
      client.socket.setNoDelay();
      for (const byte of bytes) {
        client.send(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      return client;
    };
    const grpc = await oneByOne(wire.subscribe("/t.T/Hold"));
    await eventually(() => grpc.hasFrame(1), "response headers");
    // POST shares its first letter with the preface, PROPFIND the first two.
    const http1 = await oneByOne(Buffer.from("PROPFIND /p HTTP/1.1\r\nhost: a\r\n\r\n"));
    await eventually(() => http1.received.includes("PROPFIND /p a"));
  });

  it("answers an HTTP/1.1 client that half-closes after the request", async () => {
    const client = await rawClient(await serve([echo], { http }));
    client.socket.end("GET /half HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    await client.closed;
    expect(client.received).to.contain("GET /half a");
  });

  describe("against clients that say nothing", () => {
    const headerTimeoutMs = 150;
    /** For what a client must have done before it is over. */
    const longerMs = 1_500;
    const cases: Record<string, string> = {
      "part of the HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM",
      "part of a request line": "GET /hea",
      "part of the headers": "GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: ",
    };
    for (const [what, bytes] of Object.entries(cases)) {
      it(`ends a connection that sends ${what} with 408`, async () => {
        const client = await rawClient(await serve([echo], { http, headerTimeoutMs }));
        client.send(bytes);
        await client.closed;
        expect(client.received).to.match(/^HTTP\/1\.1 408 /);
      });
    }

    it("ends a connection that sends its headers byte by byte", async () => {
      const client = await rawClient(await serve([echo], { http, headerTimeoutMs }));
      const drip = setInterval(() => client.send("x"), 20);
      client.send("GET / HTTP/1.1\r\nx: ");
      await client.closed;
      clearInterval(drip);
      expect(client.received).to.match(/^HTTP\/1\.1 408 /);
    });

    it("ends a connection that sends nothing without a 408, which would cross the first request of a pool", async () => {
      for (const listener of [
        await serve([echo], { headerTimeoutMs }),
        await serve([echo], { http, headerTimeoutMs }),
        await listen({ http, headerTimeoutMs, idleTimeoutMs: 200 }),
      ]) {
        const client = await rawClient(listener);
        await client.closed;
        expect(client.received).to.equal("");
      }
    });

    it("but on a port of HTTP/1.1 only not before it would end one between two requests", async () => {
      const listener = await listen({ http, headerTimeoutMs: 20 });
      const silent = await rawClient(listener);
      const slow = await rawClient(listener);
      slow.send("GET / HTTP/1.1\r\n");
      await slow.closed;
      silent.send("GET /late HTTP/1.1\r\nhost: a\r\n\r\n");
      await eventually(() => silent.received.includes("GET /late a"));
    });

    it("but not against those whose bytes came in time and were read late", async () => {
      const listener = await serve([echo], { http, headerTimeoutMs: longerMs });
      const client = await rawClient(listener);
      // It was accepted before this one.
      await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("a"));
      client.send("GET /late HTTP/1.1\r\nhost: a\r\n\r\n");
      const busyUntil = Date.now() + 1.2 * longerMs;
      while (Date.now() < busyUntil);
      await eventually(() => client.received.includes("GET /late a"));
      expect(client.received).not.to.contain("408");
    });

    it("has patience with clients that are late themselves, as long as they are few", async () => {
      // One may be silent for long.
      const memory = new PeerMemory(64 * 1024);
      const listener = await serve([echo], { http, memory, headerTimeoutMs: 500 });
      const first = await rawClient(listener);
      const second = await rawClient(listener);
      await first.closed;
      second.send("GET /second HTTP/1.1\r\nhost: a\r\n\r\n");
      await eventually(() => second.received.includes("GET /second a"));
    });

    it("ends the first at once if far too many say nothing, and none that has only just come", async () => {
      // Six may be silent at a time.
      const memory = new PeerMemory(64 * 1024);
      const dropped: string[] = [];
      const listener = await serve([echo], {
        http,
        memory,
        headerTimeoutMs: 60_000,
        onDropped: (reason) => dropped.push(reason),
      });
      const first = await rawClient(listener);
      for (let more = 0; more < 12; more++) await rawClient(listener);
      await first.closed;
      expect(dropped.length).to.be.within(4, 7);
      expect(new Set(dropped)).to.deep.equal(new Set(["memory"]));
      const late = await rawClient(listener);
      late.send("GET /late HTTP/1.1\r\nhost: a\r\n\r\n");
      await eventually(() => late.received.includes("GET /late a"));
      const before = dropped.length;
      const together = Array.from({ length: 20 }, () => createConnection(listener.port, "127.0.0.1"));
      for (const socket of together) afterwards(() => socket.destroy());
      let answers = 0;
      for (const socket of together) {
        socket.on("data", () => answers++).on("error", () => undefined);
        socket.write("GET /together HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
      }
      await eventually(() => answers >= 1 && together.every(({ destroyed }) => destroyed));
      expect(dropped.slice(before).length, "of those that were silent before").to.be.at.most(7);
    });

    it("ends one whose request body never comes", async () => {
      const client = await rawClient(await listen({ http, headerTimeoutMs, requestTimeoutMs: 200 }));
      client.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc");
      await client.closed;
      expect(client.received).to.match(/^HTTP\/1\.1 408 /);
    });

    it("leaves a gRPC connection alone that is idle for longer", async () => {
      const listener = await serve([echo], { http, headerTimeoutMs });
      const client = new BytesClient(listener);
      await client.unary("/t.T/Echo", Buffer.from("a"));
      const silent = await rawClient(listener);
      await silent.closed;
      await client.unary("/t.T/Echo", Buffer.from("b"));
      expect(listener.sessions.size).to.equal(1);
    });
  });

  describe("stopListening", () => {
    it("refuses new connections and leaves open ones alone", async () => {
      const listener = await serve([echo], { http });
      const client = new BytesClient(listener);
      await client.unary("/t.T/Echo", Buffer.from("a"));
      const { port } = listener;
      await listener.stopListening();
      expect(String(await client.unary("/t.T/Echo", Buffer.from("b")))).to.equal("b");
      const late = new BytesClient(`127.0.0.1:${port}`, { "grpc.enable_retries": 0 });
      const error = await late.unary("/t.T/Echo", Buffer.from("c")).catch((reason: unknown) => reason);
      expect(error).to.include({ code: status.UNAVAILABLE });
    });
  });

  describe("close", () => {
    it("leaves no connection, of whatever kind and in whatever state", async () => {
      const listener = await serve([hold, bytesUnary("/t.T/Never", () => new Promise(() => undefined))], {
        http: (request, response) => {
          if (request.url === "/held") response.write("begun");
          else response.end("done");
        },
      });
      const probe = new BytesClient(listener).stream("/t.T/Hold");
      const pending = new BytesClient(listener)
        .unary("/t.T/Never", Buffer.from("x"))
        .catch((error: unknown) => error);
      await probe.headers;
      const stalled = await rawClient(listener);
      stalled.send(wire.subscribe("/t.T/Hold", { 4: 0 }));
      const clients = await Promise.all(
        [
          "",
          "PRI * ",
          "GET /part HTTP/1.1\r\n",
          "GET /held HTTP/1.1\r\nhost: a\r\n\r\n",
          "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        ].map(async (bytes) => {
          const client = await rawClient(listener);
          client.send(bytes);
          return client;
        }),
      );
      await eventually(() => clients.slice(3).every(({ received }) => received !== ""));
      await eventually(() => listener.sessions.size === 3);
      await listener.close();
      expect(listener.sessions.size).to.equal(0);
      await Promise.all([...clients, stalled].map(({ closed }) => closed));
      expect((await probe.status).code).to.equal(status.UNAVAILABLE);
      expect(await pending).to.include({ code: status.UNAVAILABLE });
      await listener.close();
    });

    it("may be called before listening", async () => {
      await new PortListener({ endpoint: { port: 0 }, logger: recordingLogger(), http }).close();
    });
  });

  it("says which port is taken and how to choose another", async () => {
    const { port } = await serve([echo]);
    const second = new PortListener({
      endpoint: { host: "127.0.0.1", port },
      optionName: "--port",
      logger: recordingLogger(),
      http,
    });
    const error = await second.listen().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error);
    expect((error as Error).message).to.equal(
      `port ${port} of 127.0.0.1 is taken by another process: stop that one, or choose another port with --port`,
    );
    expect((error as Error).cause).to.include({ code: "EADDRINUSE" });
  });

  it("answers a frame that arrives together with the preface", async () => {
    const client = await rawClient(await serve([echo]));
    afterwards(() => client.socket.destroy());
    client.send(
      Buffer.concat([
        wire.preface,
        wire.settings(),
        wire.headers(1, "/t.T/Echo"),
        wire.data(1, frameMessage(Buffer.from("early"))),
      ]),
    );
    await eventually(() => client.received.includes("early"));
  });
});
