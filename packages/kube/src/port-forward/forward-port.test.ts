import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, get, Agent, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { hostAndPort } from "@bunting/runtime";
import { itOnIpv6 } from "@bunting/test/support/ipv6.js";
import { expect } from "chai";
import type { ClusterConfig } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";
import { forwardPort } from "./forward-port.js";
import { encodeFrame, frameDecoder, opcode } from "./websocket-frames.js";

const target = { namespace: "flags", pod: "proxy-1", port: 8016 };

/** A frame of a server, which is not masked; `fin` is false for all but the last of several. */
function serverFrame(code: number, payload: Buffer, fin = true): Buffer {
  const { length } = payload;
  const head = length < 126 ? Buffer.of(0, length) : Buffer.of(0, 126, length >> 8, length & 0xff);
  head[0] = (fin ? 0x80 : 0) | code;
  return Buffer.concat([head, payload]);
}

/** Takes the mask off frames of a client, so that the decoder reads them. */
function unmasked(frames: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < frames.length;) {
    const [first = 0, second = 0] = frames.subarray(at);
    expect(second & 0x80, "clients mask their frames").to.equal(0x80);
    const short = second & 0x7f;
    const start = at + (short < 126 ? 2 : 4);
    const length = short < 126 ? short : frames.readUInt16BE(at + 2);
    const mask = frames.subarray(start, start + 4);
    const payload = Buffer.from(frames.subarray(start + 4, start + 4 + length));
    for (let index = 0; index < length; index++)
      payload[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
    parts.push(serverFrame(first & 0x0f, payload));
    at = start + 4 + length;
  }
  return Buffer.concat(parts);
}

/** The API server's end: it upgrades, and answers with what the test says. */
class FakeKubelet {
  readonly server: Server = createServer((_, response) => {
    response.writeHead(403, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        kind: "Status",
        code: 403,
        reason: "Forbidden",
        message: "pods/portforward is forbidden",
      }),
    );
  });
  readonly requests: IncomingMessage[] = [];
  readonly received: Buffer[] = [];
  /** Called for each message of the client. */
  onMessage: (send: (frame: Buffer) => void) => void = () => undefined;
  #socket: Duplex | undefined;

  listen(onUpgrade: (send: (frame: Buffer) => void) => void, protocol = "v4.channel.k8s.io"): void {
    this.server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
      this.requests.push(request);
      this.#socket = socket;
      const key = request.headers["sec-websocket-key"] ?? "";
      // What a test sends at once comes in one piece with the answer.
      socket.cork();
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
      );
      const decode = frameDecoder(1_000_000, (code, payload) => {
        if (code !== opcode.binary) return;
        this.received.push(Buffer.from(payload));
        this.onMessage((frame) => socket.write(frame));
      });
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => decode(unmasked(chunk)));
      onUpgrade((frame) => socket.write(frame));
      socket.uncork();
    });
  }

  async config(host = "127.0.0.1"): Promise<ClusterConfig> {
    this.server.listen(0, host);
    await once(this.server, "listening");
    const { port } = this.server.address() as AddressInfo;
    return {
      server: new URL(`http://${hostAndPort(host, port)}/prefix/`),
      tls: { read: () => Promise.resolve({}) },
      credentials: {
        headers: () => Promise.resolve({ authorization: "Bearer secret" }),
        renew: () => Promise.resolve(false),
      },
    };
  }

  close(): void {
    this.#socket?.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }
}

const ports = [
  serverFrame(opcode.binary, Buffer.of(0, 0x50, 0x1f)),
  serverFrame(opcode.binary, Buffer.of(1, 0x50, 0x1f)),
];

describe("forwardPort", () => {
  let kubelet: FakeKubelet;
  beforeEach(() => (kubelet = new FakeKubelet()));
  afterEach(() => kubelet.close());

  it("carries an HTTP request to the port of a Pod, and the answer back, in whatever frames it comes", async () => {
    const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 300\r\n\r\n" + "x".repeat(300));
    kubelet.listen((send) => {
      for (const frame of ports) send(frame);
      send(serverFrame(opcode.ping, Buffer.from("?")));
    });
    kubelet.onMessage = (send) => {
      send(serverFrame(opcode.binary, Buffer.concat([Buffer.of(0), answer.subarray(0, 50)]), false));
      send(serverFrame(opcode.continuation, answer.subarray(50, 60)));
      send(serverFrame(opcode.binary, Buffer.concat([Buffer.of(0), answer.subarray(60)])));
    };
    const connection = await forwardPort(await kubelet.config(), target, AbortSignal.timeout(10_000));
    const agent = new Agent();
    agent.createConnection = () => connection;
    const body = await new Promise<string>((resolve, reject) => {
      get({ agent, path: "/status", headers: { host: "localhost" } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve(text));
      }).on("error", reject);
    });
    expect(body).to.equal("x".repeat(300));
    connection.destroy();
    const [request] = kubelet.requests;
    expect(request?.url).to.equal("/prefix/api/v1/namespaces/flags/pods/proxy-1/portforward?ports=8016");
    expect(request?.headers).to.include({ authorization: "Bearer secret", "sec-websocket-version": "13" });
    const sent = Buffer.concat(kubelet.received.map((message) => message.subarray(1))).toString();
    expect(sent).to.match(/^GET \/status HTTP\/1\.1\r\n/);
    expect(kubelet.received.every(([channel]) => channel === 0)).to.equal(true);
  });

  itOnIpv6("reaches an API server at an address of IPv6", async () => {
    kubelet.listen((send) => {
      for (const frame of ports) send(frame);
    });
    const connection = await forwardPort(await kubelet.config("::1"), target, AbortSignal.timeout(10_000));
    connection.destroy();
    expect(kubelet.requests).to.have.length(1);
  });

  it("ends with what the kubelet says on the channel of errors", async () => {
    kubelet.listen((send) => {
      for (const frame of ports) send(frame);
      send(serverFrame(opcode.binary, Buffer.from("\u0001connection refused")));
    });
    const connection = await forwardPort(await kubelet.config(), target, AbortSignal.timeout(10_000));
    // Nobody listens yet: the error must wait for whoever reads.
    await setImmediate();
    connection.resume();
    const [error] = (await once(connection, "error")) as [Error];
    expect(error).to.be.instanceOf(KubeError);
    expect(error.message).to.equal(
      "the connection to port 8016 of the Pod flags/proxy-1 broke: connection refused",
    );
  });

  it("throws the API server's refusal, and one of its own for an upgrade to something else", async () => {
    const config = await kubelet.config();
    const refused = await forwardPort(config, target, AbortSignal.timeout(10_000)).catch(
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(KubeError).and.include({ code: "FORBIDDEN", status: 403 });
    kubelet.listen(() => undefined, "other");
    const other = await forwardPort(config, target, AbortSignal.timeout(10_000)).catch(
      (error: unknown) => error,
    );
    expect(other).to.include({ code: "PROTOCOL" });
  });

  it("gives up when the signal aborts", async () => {
    const silent = createServer();
    silent.on("upgrade", () => undefined);
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const config = { ...(await kubelet.config()), server: new URL(`http://127.0.0.1:${port}`) };
    const error = await forwardPort(config, target, AbortSignal.timeout(50)).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.include({ code: "ABORTED" });
    silent.close();
    silent.closeAllConnections();
  });
});

describe("the frames of a WebSocket", () => {
  it("come out as they went in, whatever their length and however they are cut", () => {
    for (const length of [0, 1, 125, 126, 127, 65_535]) {
      const payload = Buffer.alloc(length, "abc");
      const messages: Buffer[] = [];
      const decode = frameDecoder(1_000_000, (_, message) => messages.push(Buffer.from(message)));
      const frame = unmasked(encodeFrame(opcode.binary, payload));
      for (let at = 0; at < frame.length; at += 7) decode(frame.subarray(at, at + 7));
      expect(messages, `${length}`).to.deep.equal([payload]);
    }
    const large = encodeFrame(opcode.binary, Buffer.alloc(70_000));
    expect(large.readBigUInt64BE(2)).to.equal(70_000n);
  });

  it("are refused if they are too large, or none", () => {
    const decoder = (): ((chunk: Buffer) => void) => frameDecoder(100, () => undefined);
    expect(() => decoder()(Buffer.of(0x82, 126, 0, 200))).to.throw("a frame of 200 bytes");
    expect(() => decoder()(Buffer.from("HTTP/1.1 400"))).to.throw("no WebSocket frame");
    const many = decoder();
    many(serverFrame(opcode.binary, Buffer.alloc(80), false));
    expect(() => many(serverFrame(opcode.continuation, Buffer.alloc(80)))).to.throw("a message of more than");
  });
});
