import { expect } from "chai";
import type { RequestListener } from "node:http";
import { frameMessage } from "../call/framing.js";
import { PeerMemory } from "../limits/peer-memory.js";
import { GrpcServer } from "../call/grpc-server.js";
import {
  bytesUnary,
  eventually,
  listen,
  rawClient,
  recordingLogger,
  releaseAfterEach,
  type RawClient,
} from "../rpc.fixture.js";
import type { PortListener } from "./port-listener.js";

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const switching = "HTTP/1.1 101 Switching Protocols\r\n";
const [dataType, headersType, resetType, settingsType, goawayType] = [0, 1, 3, 4, 7];

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: string;
}

/** Answers with the request, including its body, and says over which version it came. */
const http: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { method = "", url = "", httpVersion, headers } = request;
    const seen = Object.keys(headers).filter((name) => /upgrade|connection|settings/.test(name));
    response.end(
      `${httpVersion} ${method} ${url} ${headers.host ?? ""} [${String(seen)}] ${String(headers["x-a"])} ${Buffer.concat(chunks).toString()}`,
    );
  });
};

const echo = bytesUnary("/t.T/Echo", (request) => request);

async function serve(memory?: PeerMemory): Promise<PortListener> {
  const logger = recordingLogger();
  return listen({
    grpc: new GrpcServer({ methods: [echo], logger }),
    http,
    logger,
    memory,
    headerTimeoutMs: 100,
  });
}

/** initialWindowSize 100: what comes over stream 1 shows whether it is in force. */
const settings = Buffer.from([0, 4, 0, 0, 0, 100]);

function upgrade(
  first: string,
  headers: Readonly<Record<string, string>> = {},
  body: string | Buffer = "",
): Buffer {
  const fields = {
    Host: "example",
    Connection: "Upgrade, HTTP2-Settings",
    Upgrade: "h2c",
    "HTTP2-Settings": settings.toString("base64url"),
    ...(body.length === 0 ? {} : { "Content-Length": String(body.length) }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${first} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"),
    Buffer.from(body),
  ]);
}

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** What was received after the 101, in frames. */
function framesOf({ received }: RawClient): Frame[] {
  const frames: Frame[] = [];
  let rest = Buffer.from(received.slice(received.indexOf("\r\n\r\n") + 4), "latin1");
  while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
    const end = 9 + rest.readUIntBE(0, 3);
    const [type = 0, flags = 0] = [rest[3], rest[4]];
    frames.push({ type, flags, stream: rest.readUInt32BE(5), payload: rest.toString("latin1", 9, end) });
    rest = rest.subarray(end);
  }
  return frames;
}

const dataOf = (client: RawClient, stream = 1): string =>
  framesOf(client)
    .filter((one) => one.type === dataType && one.stream === stream)
    .map(({ payload }) => payload)
    .join("");

const isSwitched = (client: RawClient) => (): boolean => client.received.includes("\r\n\r\n");

describe("h2c upgrade", () => {
  releaseAfterEach();

  it("answers the request as stream 1, and serves further requests on the connection", async () => {
    const client = await rawClient(await serve());
    client.send(upgrade("GET /a?b=c", { "X-A": "é", TE: "gzip" }));
    await eventually(isSwitched(client));
    expect(client.received).to.match(new RegExp(`^${switching}`));
    client.send(Buffer.concat([Buffer.from(preface), frame(settingsType, 0, 0)]));
    await eventually(() => dataOf(client).includes("2.0"), "stream 1 is answered");
    expect(dataOf(client)).to.equal("2.0 GET /a?b=c example [] Ã© ");
    // :method GET, :scheme http, :path /, :authority x
    client.send(frame(headersType, 0x5, 3, Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x78])));
    await eventually(() => dataOf(client, 3).includes("2.0 GET / x"), "stream 3 is answered");
    const acknowledged = framesOf(client).filter(({ type, flags }) => type === settingsType && flags === 1);
    expect(acknowledged, "SETTINGS are acknowledged once").to.have.length(1);
    expect(framesOf(client).filter(({ type }) => type === resetType || type === goawayType)).to.have.length(
      0,
    );
  });

  it("takes the body, however it arrives, with the preface right behind it, and heeds HTTP2-Settings", async () => {
    const client = await rawClient(await serve());
    const body = "x".repeat(20_000);
    const request = upgrade("POST /", {}, body);
    const opening = Buffer.concat([Buffer.from(preface), frame(settingsType, 0, 0)]);
    client.send(request.subarray(0, 5_000));
    await eventually(() => client.socket.bytesWritten === 5_000);
    client.send(Buffer.concat([request.subarray(5_000), opening.subarray(0, 30)]));
    await eventually(isSwitched(client));
    client.send(opening.subarray(30));
    await eventually(() => dataOf(client).length === 100, "as much as the window takes");
    // WINDOW_UPDATE of stream 1
    client.send(frame(8, 0, 1, Buffer.from([0, 1, 0, 0])));
    await eventually(() => dataOf(client).endsWith("xxx") && dataOf(client).length > 20_000);
  });

  it("serves gRPC too", async () => {
    const client = await rawClient(await serve());
    client.send(
      upgrade(
        "POST /t.T/Echo",
        { "Content-Type": "application/grpc", TE: "trailers" },
        frameMessage(Buffer.from("hi")),
      ),
    );
    await eventually(isSwitched(client));
    client.send(Buffer.concat([Buffer.from(preface), frame(settingsType, 0, 0)]));
    await eventually(() => dataOf(client).includes("hi"));
  });

  it("leaves other requests to HTTP/1.1", async () => {
    const port = await serve();
    for (const request of [
      upgrade("GET /", { Upgrade: "websocket, xh2c" }),
      upgrade("GET /", { Connection: "Upgrade" }),
      upgrade("GET /", { "HTTP2-Settings": "AAMAAABkAA" }),
      upgrade("GET /", { "X-Long": "x".repeat(9_000) }),
      upgrade("POST /", { "Transfer-Encoding": "chunked" }, "").toString().concat("0\r\n\r\n"),
    ]) {
      const client = await rawClient(port);
      client.send(request);
      await eventually(() => client.received.includes("1.1 "), "it is answered");
      expect(client.received).to.match(/^HTTP\/1\.1 200 OK/);
      client.socket.destroy();
    }
    const large = await rawClient(port);
    large.send(upgrade("POST /", {}, "x".repeat(60_000)));
    await eventually(() => large.received.includes("xxx"), "it is answered");
    expect(large.received).to.match(/^HTTP\/1\.1 200 OK/);
  });

  it("closes connections that do not go on, or go on with something else, and frees what they held", async () => {
    const memory = new PeerMemory(10 * 1024 * 1024);
    const port = await serve(memory);
    const noBody = await rawClient(port);
    noBody.send(upgrade("POST /", { "Content-Length": "10" }));
    const noPreface = await rawClient(port);
    noPreface.send(upgrade("GET /"));
    await eventually(isSwitched(noPreface));
    expect(memory.bytes).to.be.greaterThan(0);
    const wrong = await rawClient(port);
    wrong.send(upgrade("GET /"));
    await eventually(isSwitched(wrong));
    wrong.send(Buffer.concat([Buffer.from(preface), frame(dataType, 0, 0)]));
    await Promise.all([noBody.closed, noPreface.closed, wrong.closed]);
    await eventually(() => memory.bytes === 0, "nothing is held");
  });
});
