import { once } from "node:events";
import { rmSync, mkdirSync, writeFileSync } from "node:fs";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { get } from "node:https";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { Authority } from "@bunting/test/support/certificates.js";
import { clientHello } from "@bunting/test/support/client-hello.js";
import { SecretMount } from "@bunting/test/support/secret-mount.js";
import { Client, credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import {
  afterwards,
  answerOf,
  bytesStreaming,
  bytesUnary,
  eventually,
  listen,
  rawClient,
  recordingLogger,
  releaseAfterEach,
  serve,
  StreamProbe,
  wire,
} from "@bunting/test/support/grpc-port.js";
import { frameMessage } from "@bunting/rpc";
import { PeerMemory } from "../limits/peer-memory.js";
import type { PortListener } from "../port/port-listener.js";
import type { PortListenerOptions } from "../port/port-listener-options.js";
import { TlsCertificate } from "./tls-certificate.js";
import { TlsTermination, type TlsTerminationOptions } from "./tls-termination.js";

type Pair = Awaited<ReturnType<Authority["issue"]>>;

const echo = bytesUnary("/t.T/Echo", (request) => request);

class PairMount extends SecretMount {
  constructor(pair: Pair) {
    super(filesOf(pair));
    afterwards(() => this.remove());
  }

  swapPair(pair: Pair): void {
    this.swap(filesOf(pair));
  }
}

function filesOf({ cert, key }: Pair): Record<string, string> {
  return { "tls.crt": cert, "tls.key": key };
}

describe("TlsTermination", () => {
  let authority: Authority;
  let hello: Buffer;
  let pair: Pair;
  let otherPair: Pair;
  let dropped: string[];
  let logger: ReturnType<typeof recordingLogger>;

  before(async function () {
    this.timeout(20_000);
    authority = await Authority.create();
    hello = await clientHello();
    [pair, otherPair] = await Promise.all([authority.issue(), authority.issue()]);
  });

  releaseAfterEach();

  beforeEach(() => {
    dropped = [];
    logger = recordingLogger();
  });

  function certificateOf(mount: PairMount): TlsCertificate {
    return new TlsCertificate({
      certPath: join(mount.path, "tls.crt"),
      keyPath: join(mount.path, "tls.key"),
      certOption: "--cert",
      keyOption: "--key",
      intervalMs: 10,
      logger,
    });
  }

  async function withTls(
    mount = new PairMount(pair),
    options: Partial<TlsTerminationOptions> = {},
  ): Promise<Partial<PortListenerOptions> & { tls: TlsTermination }> {
    const certificate = certificateOf(mount);
    const tls = new TlsTermination({ certificate, ...options });
    await certificate.start();
    afterwards(() => certificate.stop());
    return {
      tls,
      onDropped: (reason, detail) =>
        void dropped.push(detail === undefined ? reason : `${reason}: ${detail}`),
    };
  }

  function grpcClient({ port }: PortListener): Client {
    const client = new Client(`localhost:${port}`, credentials.createSsl(Buffer.from(authority.cert)), {
      "grpc.use_local_subchannel_pool": 1,
    });
    afterwards(() => client.close());
    return client;
  }

  function echoes(client: Client, text: string): Promise<string> {
    const identity = (bytes: Buffer): Buffer => bytes;
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest("/t.T/Echo", identity, identity, Buffer.from(text), (error, response) => {
        if (error === null) resolve(String(response));
        else reject(error);
      });
    });
  }

  function streamOf(client: Client, path: string): StreamProbe {
    const identity = (bytes: Buffer): Buffer => bytes;
    return new StreamProbe(client.makeServerStreamRequest(path, identity, identity, Buffer.alloc(0)));
  }

  function http2({ port }: PortListener): ClientHttp2Session {
    const session = connectHttp2(`https://localhost:${port}`, { ca: authority.cert });
    session.on("error", () => undefined);
    afterwards(() => session.destroy());
    return session;
  }

  async function secure({ port }: PortListener, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ port, host: "localhost", ca: authority.cert, ...options });
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    await Promise.race([
      once(socket, "secureConnect"),
      once(socket, "close").then(() => Promise.reject(new Error("closed"))),
    ]);
    return socket;
  }

  /** A connection that has begun a handshake and sends nothing more. */
  function stuck(listener: PortListener): Promise<Socket> {
    return sending(listener, hello);
  }

  /** A connection that sends these bytes, and nothing more. */
  async function sending({ port }: PortListener, bytes: Buffer, localAddress = "127.0.0.1"): Promise<Socket> {
    const socket = createConnection({ port, host: "127.0.0.1", localAddress });
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.resume();
    socket.write(bytes);
    return socket;
  }

  /** The first bytes of a ClientHello of this size. */
  function headOf(helloBytes: number): Buffer {
    const head = Buffer.from("16030102000100000003", "hex");
    head.writeUIntBE(helloBytes, 6, 3);
    return head;
  }

  async function serialOf(listener: PortListener): Promise<string> {
    const socket = await secure(listener);
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  }

  it("serves gRPC", async () => {
    const listener = await serve([echo], await withTls());

    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
    expect(
      [...listener.sessions].map(({ isEncrypted, peerCertificate }) => [isEncrypted, peerCertificate]),
    ).to.deep.equal([[true, undefined]]);
  });

  it("serves other requests over HTTP/1.1 and HTTP/2", async () => {
    const listener = await serve([echo], {
      ...(await withTls()),
      http: (request, response) => void response.end(`HTTP/${request.httpVersion}`),
    });

    const body = await new Promise((resolve) => {
      get(`https://localhost:${listener.port}`, { ca: authority.cert, agent: false }, (response) => {
        response.once("data", (chunk: Buffer) => resolve(chunk.toString()));
      });
    });
    expect(body).to.equal("HTTP/1.1");
    expect((await answerOf(http2(listener).request({ ":path": "/" }))).body.toString()).to.equal("HTTP/2.0");
  });

  it("serves HTTP/1.1 on a port without gRPC", async () => {
    const listener = await listen({ ...(await withTls()), http: (_, response) => void response.end("ok") });
    const socket = await secure(listener);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));

    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");

    await once(socket, "close");
    expect(text).to.match(/^HTTP\/1.1 200[^]*ok/);
  });

  it("offers h2 and http/1.1, TLS 1.2 and 1.3, and resumes sessions", async () => {
    const listener = await serve([echo], await withTls());
    const alpn = async (...protocols: string[]): Promise<string | false | null> =>
      (await secure(listener, { ALPNProtocols: protocols })).alpnProtocol;

    expect(await alpn("http/1.1", "h2")).to.equal("h2");
    expect(await alpn("http/1.1")).to.equal("http/1.1");
    const old = await secure(listener, { maxVersion: "TLSv1.2", ALPNProtocols: ["h2"] });
    expect(old.getProtocol()).to.equal("TLSv1.2");
    const session = old.getSession();
    old.destroy();
    const resumed = await secure(listener, { maxVersion: "TLSv1.2", ALPNProtocols: ["h2"], session });
    expect(resumed.isSessionReused()).to.equal(true);
  });

  it("refuses TLS 1.1, and counts it", async () => {
    const listener = await serve([echo], await withTls());

    const attempt = secure(listener, {
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });

    expect(await attempt.catch(String)).to.be.a("string");
    await eventually(() => dropped.length === 1);
    expect(dropped[0]).to.match(/^tls: the handshake failed: /);
  });

  it("closes connections of plaintext at once, HTTP/1.1 with a reason", async () => {
    const listener = await serve([echo], { ...(await withTls()), headerTimeoutMs: 60_000 });
    const http1 = await rawClient(listener);
    const prior = await rawClient(listener);

    http1.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    prior.send(wire.subscribe("/t.T/Echo"));

    await Promise.all([http1.closed, prior.closed]);
    expect(http1.received).to.match(/^HTTP\/1.1 400[^]*use https/);
    expect(prior.received).to.equal("");
    expect(dropped).to.deep.equal(Array(2).fill("tls: a client spoke plaintext to a port with TLS"));
  });

  it("closes connections of TLS at once where there is none", async () => {
    const onDropped = (reason: string, detail?: string): void => void dropped.push(`${reason}: ${detail}`);
    const listener = await serve([echo], { headerTimeoutMs: 60_000, onDropped });

    await once(await stuck(listener), "close");

    expect(dropped).to.deep.equal(["tls: a client spoke TLS to a port without it"]);
  });

  it("ends a handshake that does not go on", async () => {
    const memory = new PeerMemory(10_000_000);
    const listener = await serve([echo], {
      ...(await withTls(undefined, { times: { timeoutMs: 100 } })),
      memory,
    });
    const socket = await stuck(listener);
    await eventually(() => memory.bytes > 24 * 1024, "the connection to be charged");

    await once(socket, "close");

    expect(dropped).to.deep.equal(["tls: the handshake did not end within 0.1 s"]);
    await eventually(() => memory.bytes === 0, "the charge to be released");
  });

  it("refuses a handshake that begins with a message larger than clients send", async () => {
    const memory = new PeerMemory(10_000_000);
    const listener = await serve([echo], { ...(await withTls()), memory });

    await once(await sending(listener, headOf(16_385)), "close");

    expect(dropped).to.deep.equal([
      "tls: the handshake did not begin with a ClientHello of at most 16384 bytes",
    ]);
    expect(memory.bytes).to.equal(0);
  });

  it("refuses a ClientHello that comes in tiny records, before OpenSSL gathers them", async () => {
    const memory = new PeerMemory(10_000_000);
    const listener = await serve([echo], { ...(await withTls()), memory });
    const record = Buffer.concat([Buffer.from("1603010001", "hex"), Buffer.of(0)]);
    const records = Array<Buffer>(100).fill(record);

    const socket = await sending(listener, Buffer.concat([headOf(16_000), Buffer.alloc(507), ...records]));
    await new Promise((resolve) => socket.once("close", resolve));

    expect(dropped).to.deep.equal([
      "tls: the handshake did not begin with a ClientHello of at most 16384 bytes",
    ]);
    expect(memory.bytes).to.equal(0);
  });

  it("takes a ClientHello that comes in pieces and in several records", async () => {
    const listener = await serve([echo], await withTls());
    const body = hello.subarray(5);
    const records = [body.subarray(0, 100), body.subarray(100)].map((part) => {
      const head = Buffer.from("1603010000", "hex");
      head.writeUInt16BE(part.length, 3);
      return Buffer.concat([head, part]);
    });
    const socket = await sending(listener, Buffer.alloc(0));
    const answered = once(socket, "data");
    for (const byte of Buffer.concat(records)) socket.write(Buffer.of(byte));

    const [answer] = (await answered) as [Buffer];
    expect(answer[0], "a record of the handshake, no alert").to.equal(0x16);
  });

  it("lets a client in while thousands of half a ClientHello each wait for nothing", async () => {
    const memory = new PeerMemory(100_000_000);
    const endless = { maxHandshakes: 2, timeoutMs: 3_600_000, crowdedTimeoutMs: 3_600_000 };
    const listener = await serve([echo], { ...(await withTls(undefined, endless)), memory });
    const half = hello.subarray(0, hello.length - 1);
    await Promise.all(Array.from({ length: 300 }, () => sending(listener, half)));

    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
    expect(dropped).to.deep.equal([]);
  });

  it("lets a client in while handshakes of another address that go no further take all places of that one", async () => {
    const endless = { maxHandshakes: 8, timeoutMs: 3_600_000, crowdedTimeoutMs: 3_600_000 };
    const listener = await serve([echo], await withTls(undefined, endless));
    const stuckOnes = await Promise.all(
      Array.from({ length: 100 }, () => sending(listener, hello, "127.0.0.2")),
    );
    await eventually(() => stuckOnes.filter(({ bytesRead }) => bytesRead > 0).length === 5);

    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
    expect(stuckOnes.filter(({ bytesRead }) => bytesRead > 0)).to.have.length(5);
    expect(dropped).to.deep.equal([]);
  });

  it("closes a connection that does not send as much as the head of a handshake", async () => {
    const refused: string[] = [];
    const listener = await serve([echo], {
      ...(await withTls()),
      headerTimeoutMs: 100,
      memory: new PeerMemory(1),
      onRefused: (reason) => void refused.push(reason),
    });
    const socket = createConnection(listener.port, "127.0.0.1");
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.write(Buffer.from("1603010200", "hex"));

    await once(socket, "close");

    expect(refused).to.deep.equal(["request_timeout"]);
  });

  it("lets clients in while stuck handshakes take all places", async () => {
    const listener = await serve([echo], await withTls(undefined, { maxHandshakes: 2 }));
    const stuckOnes = await Promise.all(Array.from({ length: 4 }, () => stuck(listener)));
    const closed = stuckOnes.map((socket) => once(socket, "close"));

    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");

    await Promise.all(closed.slice(0, 2));
    expect(dropped).to.include("tls: the handshake did not end within 1 s");
  });

  it("ends stuck handshakes for new connections when memory is short", async () => {
    const memory = new PeerMemory(400 * 1024, "idle");
    const listener = await serve([echo], { ...(await withTls()), memory });

    await Promise.all(Array.from({ length: 40 }, () => stuck(listener)));

    await eventually(() => dropped.filter((reason) => reason === "memory").length >= 30);
    expect(memory.bytes).to.be.at.most(400 * 1024);
    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
  });

  for (const [what, bytes] of [
    ["nothing", Buffer.alloc(0)],
    ["half of the preface", wire.preface.subarray(0, 12)],
  ] as const)
    it(`ends connections that say ${what} after the handshake, of whatever addresses, for new ones when memory is short`, async () => {
      const memory = new PeerMemory(400 * 1024, "idle");
      const listener = await serve([echo], { ...(await withTls()), memory });

      for (let opened = 0; opened < 12; opened++) {
        const localAddress = `127.0.0.${2 + (opened % 3)}`;
        const socket = createConnection({ port: listener.port, host: "127.0.0.1", localAddress });
        const silent = await secure(listener, { socket, servername: "localhost" });
        silent.write(bytes);
      }

      expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
      expect(memory.refusesNew).to.equal(false);
    });

  it("charges a connection for TLS until it closes", async () => {
    const memory = new PeerMemory(10_000_000);
    const listener = await serve([echo], { ...(await withTls()), memory });
    const socket = await secure(listener, { ALPNProtocols: ["h2"] });

    socket.write(wire.preface);
    socket.write(wire.settings());
    await eventually(() => memory.bytes === 72 * 1024);
    socket.destroy();
    await eventually(() => memory.bytes === 0);
  });

  it("ends streams and connections that are not read", async () => {
    const path = "/t.T/Flood";
    const flood = bytesStreaming(path, (_, out) => {
      for (let count = 0; count < 20; count++) out.write(Buffer.alloc(1_000_000));
    });
    const listener = await serve([flood], { ...(await withTls()), stall: { timeoutMs: 400 } });
    const socket = await secure(listener, { ALPNProtocols: ["h2"] });

    // A window so wide that the socket stalls, and not only the stream.
    socket.write(wire.subscribe(path, { 4: 2 ** 31 - 1 }));
    socket.write(wire.windowUpdate(0, 2 ** 30));
    await once(socket, "readable");
    socket.pause();

    await eventually(() => dropped.includes("stalled"));
    await eventually(() => listener.sessions.size === 0);
  });

  it("resets a stream that is not read", async () => {
    const path = "/t.T/Flood";
    let reset = 0;
    const flood = bytesStreaming(path, (_, out) => {
      out.write(Buffer.alloc(1_000_000));
    });
    const stall = { timeoutMs: 400, onStreamStalled: () => reset++ };
    const listener = await serve([flood], { ...(await withTls()), stall });
    const socket = await secure(listener, { ALPNProtocols: ["h2"] });
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));

    // Read, but no window is opened again.
    socket.write(wire.subscribe(path));
    await eventually(() => reset === 1);
    await eventually(() =>
      received.includes(Buffer.from("0000040300000000010000", "hex").toString("latin1")),
    );

    expect(dropped).to.deep.equal([]);
  });

  it("drops connections whose peer does not answer a PING", async () => {
    const listener = await serve([echo], {
      ...(await withTls()),
      keepalive: { intervalMs: 100, timeoutMs: 100 },
    });
    const socket = await secure(listener, { ALPNProtocols: ["h2"] });

    socket.write(wire.preface);
    socket.write(wire.settings());
    socket.write(wire.settingsAck());

    await eventually(() => dropped.includes("silent"));
    await eventually(() => listener.sessions.size === 0);
  });

  it("keeps connections whose peer answers", async () => {
    const listener = await serve([echo], {
      ...(await withTls()),
      keepalive: { intervalMs: 50, timeoutMs: 50 },
    });
    const session = http2(listener);
    let pings = 0;
    session.on("ping", () => pings++);

    await eventually(() => pings > 5);

    expect(dropped).to.deep.equal([]);
    expect(listener.sessions.size).to.equal(1);
  });

  it("closes connections after an error in HTTP/2", async () => {
    const listener = await serve([echo], {
      ...(await withTls()),
      keepalive: { intervalMs: 100, timeoutMs: 100 },
    });
    const socket = await secure(listener, { ALPNProtocols: ["h2"] });

    socket.write(wire.preface);
    // Not SETTINGS, which must come first.
    socket.write(wire.frame(9, 0, 1));

    await eventually(() => dropped.length > 0);
    expect(dropped).to.include("protocol_error");
    await eventually(() => listener.sessions.size === 0);
  });

  it("reads nothing while reading is paused", async () => {
    let requests = 0;
    const count = bytesUnary("/t.T/Echo", (request) => {
      requests++;
      return request;
    });
    const listener = await serve([count], await withTls());
    const client = grpcClient(listener);
    await echoes(client, "first");
    const [session] = listener.sessions;

    session?.pauseReading();
    const second = echoes(client, "second");
    const other = await echoes(grpcClient(listener), "other");

    expect([other, requests]).to.deep.equal(["other", 2]);
    session?.resumeReading();
    expect(await second).to.equal("second");
  });

  it("closes everything when it is closed, handshakes too", async () => {
    const listener = await serve([echo], await withTls(undefined, { maxHandshakes: 2 }));
    const sockets: Socket[] = [await secure(listener)];
    for (let count = 0; count < 4; count++) sockets.push(await stuck(listener));
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));

    await listener.close();

    await Promise.all(closed);
  });

  it("takes a certificate that is swapped, and keeps the connections made before", async () => {
    const mount = new PairMount(pair);
    let write: (text: string) => void = () => undefined;
    const listener = await serve(
      [
        echo,
        bytesStreaming("/t.T/Watch", (_, out) => {
          write = (text) => {
            out.write(frameMessage(Buffer.from(text)));
          };
          write("first");
        }),
      ],
      await withTls(mount),
    );
    const watch = streamOf(grpcClient(listener), "/t.T/Watch");
    await eventually(() => watch.messages.length === 1);
    const before = await serialOf(listener);

    mount.swapPair(otherPair);
    await eventually(() => logger.lines.length === 1);

    expect(logger.lines[0]?.message).to.equal("the certificate has changed; new connections get it");
    expect(await serialOf(listener)).not.to.equal(before);
    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
    write("second");
    await eventually(() => watch.messages.length === 2);
    expect(dropped).to.deep.equal([]);
  });

  it("refuses half of a new pair with one warning, and takes the pair once it is whole", async () => {
    const mount = new PairMount(pair);
    const listener = await serve([echo], await withTls(mount));
    const before = await serialOf(listener);

    writeFileSync(join(mount.path, "tls.crt"), otherPair.cert);
    await eventually(() => logger.lines.length === 1);
    // Some looks later.
    const socket = await secure(listener);
    await echoes(grpcClient(listener), "hello");

    expect(socket.getPeerCertificate().serialNumber).to.equal(before);
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(["warn"]);
    expect(logger.lines[0]?.message).to.match(
      /^the changed certificate is refused, and the one before stays in use: the private key .*tls.key is not that of the certificate .*tls.crt: name a pair with --cert and --key$/,
    );
    writeFileSync(join(mount.path, "tls.key"), otherPair.key);
    await eventually(() => logger.lines.length === 2);
    expect(await serialOf(listener)).not.to.equal(before);
  });

  it("stays with its certificate while the files are away or cut short", async () => {
    const mount = new PairMount(pair);
    const listener = await serve([echo], await withTls(mount));

    rmSync(join(mount.path, "..data"));
    await eventually(() => logger.lines.length === 1);
    mount.swapPair({ cert: pair.cert.slice(0, 300), key: pair.key });
    await eventually(() => logger.lines.length === 2);

    expect(logger.lines[0]?.message).to.contain("can't be read (ENOENT)");
    expect(logger.lines[1]?.message).to.contain("has no certificate in PEM");
    expect(await echoes(grpcClient(listener), "hello")).to.equal("hello");
  });

  describe("refuses to start", () => {
    async function refusal(change: (mount: PairMount) => void): Promise<string> {
      const mount = new PairMount(pair);
      change(mount);
      const message = await certificateOf(mount)
        .start()
        .then(
          () => "started",
          (error: unknown) => (error as Error).message,
        );
      return message.replaceAll(mount.path, "");
    }

    it("without a file", async () => {
      expect(await refusal(({ path }) => rmSync(join(path, "tls.key")))).to.equal(
        "the private key /tls.key can't be read (ENOENT): name a file that this user may read with --key",
      );
    });

    it("with a directory", async () => {
      const change = ({ path }: PairMount): void => {
        rmSync(join(path, "tls.crt"));
        mkdirSync(join(path, "tls.crt"));
      };
      expect(await refusal(change)).to.equal(
        "the certificate /tls.crt can't be read (it is no regular file): name a file that this user may read with --cert",
      );
    });

    it("with something else than PEM", async () => {
      expect(await refusal((mount) => mount.swapPair({ cert: "none", key: pair.key }))).to.equal(
        "/tls.crt has no certificate in PEM: name a file that has one with --cert",
      );
      expect(await refusal((mount) => mount.swapPair({ cert: pair.cert, key: "none" }))).to.equal(
        "/tls.key has no private key in PEM, or one with a password: name a file that has one, without a password, with --key",
      );
    });

    it("with the key of another certificate", async () => {
      expect(await refusal((mount) => mount.swapPair({ cert: pair.cert, key: otherPair.key }))).to.equal(
        "the private key /tls.key is not that of the certificate /tls.crt: name a pair with --cert and --key",
      );
    });
  });
});
