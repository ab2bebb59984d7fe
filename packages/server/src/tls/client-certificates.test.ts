import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { Authority, type CertificatePair } from "@bunting/test/support/certificates.js";
import { SecretMount } from "@bunting/test/support/secret-mount.js";
import { Client, credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { frameMessage } from "@bunting/rpc";
import { PeerMemory } from "../limits/peer-memory.js";
import type { PortListener } from "../port/port-listener.js";
import {
  afterwards,
  bytesStreaming,
  eventually,
  recordingLogger,
  releaseAfterEach,
  serve,
  StreamProbe,
  wire,
} from "@bunting/test/support/grpc-port.js";
import { ClientAuthorities } from "./client-authorities.js";
import { TlsCertificate } from "./tls-certificate.js";
import type { HandshakeResult } from "./tls-metrics.js";
import { TlsTermination, type TlsTerminationOptions } from "./tls-termination.js";

const uri = "spiffe://cluster.local/ns/team-a/sa/checkout";
const path = "/t.T/Watch";
const watch = bytesStreaming(path, (_, out) => {
  out.write(frameMessage(Buffer.from("first")));
});
const versions = ["TLSv1.2", "TLSv1.3"] as const;

describe("client certificates", () => {
  let root: Authority;
  let other: Authority;
  let server: CertificatePair;
  let client: CertificatePair;
  let mount: SecretMount;
  let dropped: string[];
  let results: HandshakeResult[];
  let reloads: boolean[];
  let logger: ReturnType<typeof recordingLogger>;

  before(async () => {
    [root, other] = await Promise.all([Authority.create("root"), Authority.create("other")]);
    server = await root.issue();
    client = await root.issue({ commonName: "checkout", uris: [uri] });
  });

  releaseAfterEach();

  beforeEach(() => {
    [dropped, results, reloads] = [[], [], []];
    logger = recordingLogger();
    mount = new SecretMount(files(root.cert));
  });

  afterEach(() => mount.remove());

  function files(...authorities: readonly string[]): Record<string, string> {
    return { "tls.crt": server.cert, "tls.key": server.key, "ca.crt": authorities.join("") };
  }

  function authoritiesOf(): ClientAuthorities {
    return new ClientAuthorities({
      caPath: mount.file("ca.crt"),
      caOption: "--ca",
      intervalMs: 10,
      logger,
      onReload: (isUsed) => void reloads.push(isUsed),
    });
  }

  async function listener(
    isRequired: boolean,
    options: Partial<TlsTerminationOptions> = {},
    memory?: PeerMemory,
  ): Promise<PortListener> {
    const certificate = new TlsCertificate({
      certPath: mount.file("tls.crt"),
      keyPath: mount.file("tls.key"),
      certOption: "--cert",
      keyOption: "--key",
      intervalMs: 10,
      logger,
    });
    const authorities = authoritiesOf();
    const tls = new TlsTermination({
      certificate,
      clients: { authorities, isRequired },
      onHandshake: (result) => void results.push(result),
      times: { recheckMs: 20 },
      ...options,
    });
    for (const one of [certificate, authorities]) {
      await one.start();
      afterwards(() => one.stop());
    }
    const onDropped = (reason: string, detail?: string): void => void dropped.push(`${reason}: ${detail}`);
    return serve([watch], { tls, onDropped, ...(memory === undefined ? {} : { memory }) });
  }

  /** Resolves when the server has taken the connection; it does so after the client, with TLS 1.3. */
  async function secure(
    { port }: PortListener,
    options: ConnectionOptions = {},
  ): Promise<{ readonly socket: TLSSocket; readonly session: Buffer | undefined }> {
    const before = results.length;
    const socket = connect({ port, host: "localhost", ca: root.cert, ALPNProtocols: ["h2"], ...options });
    let session: Buffer | undefined;
    socket.on("session", (one) => (session = one));
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.resume();
    await eventually(() => results.length > before, "the handshake to end");
    if (results.at(-1) === "done") await eventually(() => session !== undefined, "a ticket");
    return { socket, session };
  }

  async function http2(
    target: PortListener,
    pair: Partial<CertificatePair> = {},
  ): Promise<ClientHttp2Session> {
    const before = target.sessions.size;
    const session = connectHttp2(`https://localhost:${target.port}`, { ca: root.cert, ...pair });
    session.on("error", () => undefined);
    afterwards(() => session.destroy());
    await eventually(() => target.sessions.size > before, "the connection");
    return session;
  }

  function stream({ port }: PortListener, { cert, key }: CertificatePair): StreamProbe {
    const [ca, keyPem, chain] = [root.cert, key, cert].map((pem) => Buffer.from(pem));
    const target = new Client(`localhost:${port}`, credentials.createSsl(ca, keyPem, chain), {
      "grpc.use_local_subchannel_pool": 1,
    });
    afterwards(() => target.close());
    const identity = (bytes: Buffer): Buffer => bytes;
    return new StreamProbe(target.makeServerStreamRequest(path, identity, identity, Buffer.alloc(0)));
  }

  const peerOf = ({ sessions }: PortListener) => [...sessions].at(-1)?.peerCertificate;

  for (const version of versions)
    describe(`required, with ${version}`, () => {
      const only = { minVersion: version, maxVersion: version };

      it("lets in clients of an authority, and shows their certificate", async () => {
        const port = await listener(true);

        const { socket } = await secure(port, { ...only, ...client });
        socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        await eventually(() => port.sessions.size === 1);

        expect(results).to.deep.equal(["done"]);
        const { uriSans, validToMs } = peerOf(port) ?? {};
        expect(uriSans).to.deep.equal([uri]);
        expect(validToMs).to.be.within(Date.now(), Date.now() + 49 * 3_600_000);
      });

      it("lets in clients of an intermediate authority that present it", async () => {
        const intermediate = root.intermediate();
        const { cert, key } = await intermediate.issue();
        const port = await listener(true);

        await secure(port, { ...only, cert: cert + intermediate.cert, key });
        await secure(port, { ...only, cert, key });

        expect(results).to.deep.equal(["done", "certificate_untrusted"]);
      });

      for (const [name, result, detail, issue] of [
        ["none", "certificate_missing", "the client presented no certificate", () => Promise.resolve({})],
        [
          "one of another authority",
          "certificate_untrusted",
          "no trusted authority has issued the client's certificate",
          () => other.issue(),
        ],
        [
          "one that has expired",
          "certificate_expired",
          "the client's certificate, or that of its authority, has expired",
          () => root.issue({ validToMs: Date.now() - 1_000 }),
        ],
        [
          "one that is not valid yet",
          "certificate_invalid",
          "the client's certificate is refused: CERT_NOT_YET_VALID",
          () => root.issue({ validFromMs: Date.now() + 3_600_000 }),
        ],
      ] as const)
        it(`refuses ${name}`, async () => {
          const port = await listener(true);

          const { socket } = await secure(port, { ...only, ...(await issue()) });

          await eventually(() => socket.destroyed);
          expect(results).to.deep.equal([result]);
          expect(dropped).to.deep.equal([`tls: ${detail}`]);
          expect(port.sessions.size).to.equal(0);
        });

      it("refuses a client whose authority is removed while its handshake is under way", async () => {
        mount.swap(files(root.cert, other.cert));
        const port = await listener(true);
        const raw = connectTcp(port.port, "localhost");
        afterwards(() => raw.destroy());
        const stalled = new StallingStream(raw);
        const socket = connect({ socket: stalled, ca: root.cert, ...only, ...(await other.issue()) });
        socket.on("error", () => undefined);
        socket.resume();
        await eventually(() => stalled.isStalled, "the server's part of the handshake");

        mount.swap(files(root.cert));
        await eventually(() => reloads.length === 1);
        stalled.finish();
        await eventually(() => raw.destroyed, "the end of the connection");

        expect(results).to.deep.equal(["certificate_untrusted"]);
        expect(dropped).to.deep.equal(["tls: no trusted authority has issued the client's certificate"]);
      });

      it("does not let a session be resumed that began before the authorities changed", async () => {
        const port = await listener(true);
        const first = await secure(port, { ...only, ...client });
        const { session } = first;
        await secure(port, { ...only, ...client, session });
        expect(results, "it is resumed before").to.deep.equal(["done", "resumed"]);

        mount.swap(files(root.cert, other.cert));
        await eventually(() => reloads.length === 1);
        await secure(port, { ...only, ...client, session });
        expect(results.at(-1), "trusted still, and shown again").to.equal("done");

        mount.swap(files(other.cert));
        await eventually(() => reloads.length === 2);
        await secure(port, { ...only, ...client, session });
        expect(results.at(-1)).to.equal("certificate_untrusted");
      });
    });

  it("lets clients without one in if it is only requested, and refuses those that are not valid", async () => {
    const port = await listener(false);
    for (const version of versions) {
      const only = { minVersion: version, maxVersion: version };
      const { session } = await secure(port, only);
      // OpenSSL calls a resumed session of TLS 1.3 verified, also without a certificate.
      const { socket } = await secure(port, { ...only, session });
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      await eventually(() => port.sessions.size === 1);
      expect(peerOf(port)).to.equal(undefined);
      socket.destroy();
      await eventually(() => port.sessions.size === 0);
      await secure(port, { ...only, ...(await other.issue()) });
    }

    const each = ["done", "resumed", "certificate_untrusted"];
    expect(results).to.deep.equal([...each, ...each]);
    await http2(port, await root.issue({ commonName: "", uris: [uri] }));
    expect(peerOf(port)?.uriSans).to.deep.equal([uri]);
  });

  it("charges a connection for certificates that its client need not present, until it closes", async () => {
    const memory = new PeerMemory(10_000_000);
    const target = await listener(true, {}, memory);
    const { socket: ordinary } = await secure(target, client);
    const ordinaryBytes = memory.bytes;
    ordinary.destroy();
    await eventually(() => memory.bytes === 0, "the end of the ordinary one");
    for (const [certificates, least, most] of [
      [3, 0, 0],
      [90, 400, 1_000],
    ] as const) {
      const more = Array.from(
        { length: certificates },
        (_, index) => other.intermediate(`more ${index}`).cert,
      );
      const { socket } = await secure(target, { ...client, cert: client.cert + more.join("") });
      const kibibytes = (): number => (memory.bytes - ordinaryBytes) / 1024;
      await eventually(() => kibibytes() >= least, `the charge for ${certificates} more`);
      expect(kibibytes(), `KiB for ${certificates} more`).to.be.at.most(most);
      socket.destroy();
      await eventually(() => memory.bytes === 0, "the end of the connection");
    }
  });

  it("does not take what a client sends with the end of its handshake for certificates", async () => {
    const memory = new PeerMemory(10_000_000);
    const target = await listener(true, {}, memory);
    const options = { port: target.port, host: "localhost", ca: root.cert, ALPNProtocols: ["h2"], ...client };
    const socket = connect(options).on("error", () => undefined);
    afterwards(() => socket.destroy());
    // A frame of no known type, which is read and ignored.
    const frame = Buffer.alloc(9 + 16_384);
    frame.writeUIntBE(16_384, 0, 3);
    frame[3] = 0xfa;
    socket.write(Buffer.concat([wire.preface, wire.settings(), frame, frame, frame, wire.ping()]));
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    await eventually(() => answer.includes("\0\0\u0008\u0006\u0001"), "the answer to the PING");
    expect(memory.bytes).to.be.below(128 * 1024);
  });

  it("charges a handshake that goes no further for what its client has sent", async () => {
    const memory = new PeerMemory(10_000_000);
    const target = await listener(true, {}, memory);
    const more = Array.from({ length: 90 }, (_, index) => other.intermediate(`more ${index}`).cert);
    const chain = {
      ca: root.cert,
      servername: "localhost",
      key: client.key,
      cert: client.cert + more.join(""),
    };
    const begin = (leftBytes: number): { readonly raw: Socket; readonly stream: PassingStream } => {
      const raw = connectTcp(target.port, "localhost");
      afterwards(() => raw.destroy());
      const stream = new PassingStream(raw);
      stream.leftBytes = leftBytes;
      connect({ ...chain, socket: stream }).on("error", () => undefined);
      return { raw, stream };
    };
    const whole = begin(Infinity);
    await eventually(() => results.length > 0, "the handshake to end");
    whole.raw.destroy();
    await eventually(() => memory.bytes === 0, "the end of the connection");

    // All but its last message.
    const { raw } = begin(whole.stream.passedBytes - 64);

    await eventually(() => memory.bytes > 600 * 1024, "the charge");
    raw.destroy();
    await eventually(() => memory.bytes === 0, "the end of the handshake");
  });

  it("replaces the key of tickets on a schedule", async () => {
    const port = await listener(false, { times: { recheckMs: 20, ticketKeyMs: 50 } });
    const { session } = await secure(port);

    do await secure(port, { session });
    while (results.at(-1) !== "done");
  });

  it("ends the connections of clients whose authority is removed, and no other", async () => {
    mount.swap(files(root.cert, other.cert));
    const intermediate = other.intermediate();
    const viaIntermediate = await intermediate.issue();
    const port = await listener(false);
    const [kept, removed, chained] = [
      stream(port, client),
      stream(port, await other.issue()),
      stream(port, { ...viaIntermediate, cert: viaIntermediate.cert + intermediate.cert }),
    ];
    await http2(port);
    await eventually(() => [kept, removed, chained].every(({ messages }) => messages.length === 1));

    mount.swap(files(root.cert));

    for (const { code, details } of await Promise.all([removed.status, chained.status])) {
      expect(code).to.equal(14);
      expect(details).to.contain("is no longer trusted");
    }
    await eventually(() => port.sessions.size === 2);
    const detail = "certificate: the client's certificate is no longer trusted: its authority was removed";
    expect(dropped).to.deep.equal([detail, detail]);
  });

  it("keeps the connections of clients while the certificate of their authority is renewed", async () => {
    mount.swap(files(root.cert));
    const port = await listener(true);
    const kept = stream(port, client);
    await eventually(() => kept.messages.length === 1);

    mount.swap(files(other.cert, root.renewed()));
    await eventually(() => reloads.length === 1);
    (await secure(port, await other.issue())).socket.destroy();
    mount.swap(files(root.renewed()));
    await eventually(() => reloads.length === 2);
    const { socket } = await secure(port, await other.issue());

    await eventually(() => socket.destroyed);
    expect(dropped).to.include("tls: no trusted authority has issued the client's certificate");
    expect(port.sessions.size, "the one that is kept").to.equal(1);
  });

  it("ends the connection of a client whose certificate expires", async () => {
    const port = await listener(true);
    // It has to be valid until the connection is made, on a busy machine too.
    const short = await root.issue({ validToMs: Date.now() + 8_000 });
    const probe = stream(port, short);

    const { details } = await probe.status;

    expect(details).to.contain("the client's certificate has expired");
    expect(dropped[0]).to.equal("certificate: the client's certificate has expired");
  });

  it("stays with its authorities while their file is away, cut short, or has something else", async () => {
    const port = await listener(true);

    for (const text of ["", root.cert.slice(0, 200), root.cert + other.cert.slice(0, 300), client.cert]) {
      const before = reloads.length;
      mount.swap(files(text));
      await eventually(() => reloads.length > before);
    }

    expect(reloads).to.deep.equal([false, false, false, false]);
    const lines = logger.lines.map(({ message }) => message.replaceAll(mount.path, ""));
    expect(lines.filter((line) => line.includes("authorities"))).to.deep.equal([
      "the changed file of clients' authorities is refused, and the one before stays in use: /ca.crt has no certificate in PEM: name a file that has one with --ca",
      ...Array<string>(2).fill(
        "the changed file of clients' authorities is refused, and the one before stays in use: /ca.crt can't be used (a certificate in it is not whole): name a file of certificates in PEM with --ca",
      ),
      "the changed file of clients' authorities is refused, and the one before stays in use: /ca.crt has a certificate that is not of an authority (CN=checkout): name a file of authorities only with --ca",
    ]);
    await secure(port, client);
    expect(results).to.deep.equal(["done"]);
  });

  it("refuses a file with a revocation list, rather than let in what that has revoked", async () => {
    mount.swap(files(root.cert, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"));

    const message = await authoritiesOf()
      .start()
      .then(String, (error: unknown) => (error as Error).message);

    expect(message).to.contain("has a revocation list, which nobody would look at");
  });

  it("refuses to start without the file", async () => {
    mount.swap({});

    const message = await authoritiesOf()
      .start()
      .then(String, (error: unknown) => (error as Error).message);

    expect(message.replace(mount.path, "")).to.equal(
      "the file of clients' authorities /ca.crt can't be read (ENOENT): name a file that this user may read with --ca",
    );
  });

  it("answers no request of a client without one before it is refused", async () => {
    const port = await listener(true);
    const socket = connect({ port: port.port, host: "localhost", ca: root.cert, ALPNProtocols: ["h2"] });
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    let received = 0;
    socket.on("data", ({ length }: Buffer) => (received += length));

    // With TLS 1.3, the client's part of the handshake is done before the server has seen its certificate, or that there is none.
    socket.write(wire.subscribe(path));

    await eventually(() => socket.destroyed);
    expect(received).to.equal(0);
    expect(results).to.deep.equal(["certificate_missing"]);
  });
});

/** The client's side of a connection, which sends its ClientHello and keeps the rest back until `finish`. */
class StallingStream extends Duplex {
  readonly #raw: Socket;
  #hasSentHello = false;
  #finish: (() => void) | undefined;

  constructor(raw: Socket) {
    super();
    this.#raw = raw;
    raw.on("data", (chunk: Buffer) => this.push(chunk));
    raw.on("close", () => this.push(null));
    raw.on("error", () => undefined);
  }

  get isStalled(): boolean {
    return this.#finish !== undefined;
  }

  finish(): void {
    this.#finish?.();
  }

  override _read(): void {
    // It is pushed as it arrives.
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    const send = (): void => void this.#raw.write(chunk, () => callback());
    if (this.#hasSentHello && this.#finish === undefined) {
      this.#finish = send;
      return;
    }
    this.#hasSentHello = true;
    send();
  }
}

/** The client's side of a connection on which it believes to have sent more than it has. */
class PassingStream extends Duplex {
  /** Bytes that are still passed on; the rest is dropped. */
  leftBytes = Infinity;
  passedBytes = 0;
  readonly #raw: Socket;

  constructor(raw: Socket) {
    super();
    this.#raw = raw;
    raw.on("data", (chunk: Buffer) => this.push(chunk));
    raw.on("close", () => this.push(null));
    raw.on("error", () => undefined);
  }

  override _read(): void {
    // It is pushed as it arrives.
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    const passed = chunk.subarray(0, this.leftBytes);
    this.leftBytes -= passed.length;
    this.passedBytes += passed.length;
    this.#raw.write(passed, () => callback());
  }
}
