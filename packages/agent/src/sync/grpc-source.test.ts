import { createServer as createHttp1Server } from "node:http";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { connect, createServer as createTcpServer, type AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Metadata, ServerCredentials, status } from "@grpc/grpc-js";
import { expect } from "chai";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { GrpcSourceTiming } from "./grpc-source-timing.js";
import { GrpcSource } from "./grpc-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { SourceState } from "./source-state.js";
import { grpcConfig, partsOf, SourceProbe, StockServer } from "./sync.fixture.js";

const document = '{"flags":{}}';

interface Running {
  readonly source: SourceState;
  readonly probe: SourceProbe;
  readonly stop: () => Promise<void>;
}

describe("GrpcSource", () => {
  let server: StockServer;
  let running: Running[];
  beforeEach(() => {
    server = new StockServer();
    running = [];
  });
  afterEach(async () => {
    try {
      for (const each of running) await each.stop();
      await eventually(() => server.relay.open === 0, "no connection of the source is left");
    } finally {
      await server.stop();
    }
  });

  function run(
    fields: Partial<GrpcSourceConfig> & { target: string },
    timing: Partial<GrpcSourceTiming> = {},
    probe = new SourceProbe(),
  ): Running {
    const parts = partsOf(grpcConfig(fields.target, fields), probe.options);
    const abort = new AbortController();
    const ended = new GrpcSource(parts, timing).run(abort.signal);
    const each: Running = {
      source: parts.state,
      probe,
      stop: () => {
        abort.abort();
        return ended;
      },
    };
    running.push(each);
    return each;
  }

  describe("with tls", () => {
    let directory: TempDirectory;
    beforeEach(() => {
      directory = new TempDirectory();
      server = new StockServer(
        ServerCredentials.createSsl(null, [{ private_key: testTls.key, cert_chain: testTls.cert }]),
      );
    });
    afterEach(() => directory.remove());

    it("trusts the authorities in certPath, which is read again for each connection", async () => {
      const certPath = path.join(directory.path, "ca.crt");
      const target = await server.start();
      const { source, probe } = run({ target, isTls: true, certPath });
      await probe.failure("certificate");
      expect(source.status().error).to.match(
        /^--ca-file \(or "certPath"\) .*ca\.crt can't be used: .*ENOENT/,
      );
      writeFileSync(certPath, "no certificate");
      await eventually(() => source.status().error?.includes("ENOENT") === false, "another error");
      writeFileSync(certPath, testTls.ca);
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("does not talk to a server that it can't trust, nor to one in plaintext", async () => {
      const target = await server.start();
      const { source, probe } = run({ target, isTls: true });
      await probe.failure("unavailable");
      expect(source.status().error).to.match(/certificate/);
      expect(server.streams.size).to.equal(0);
      await server.stop();
      server = new StockServer();
      const plain = run({ target: await server.start(), isTls: true, certPath: testTls.caFile });
      await plain.probe.failure("unavailable");
      expect(server.streams.size).to.equal(0);
    });

    it("presents a client certificate, which is read again for each connection", async () => {
      server = new StockServer(
        ServerCredentials.createSsl(
          testTls.ca,
          [{ private_key: testTls.key, cert_chain: testTls.cert }],
          true,
        ),
      );
      const target = await server.start();
      const files = { clientCertPath: directory.file("tls.crt"), clientKeyPath: directory.file("tls.key") };
      const { source, probe } = run({ target, isTls: true, certPath: testTls.caFile, ...files });
      await probe.failure("certificate");
      expect(source.status().error).to.equal(
        `--client-cert-file (or "clientCertPath") ${files.clientCertPath} can't be used: ENOENT`,
      );
      directory.replace("tls.crt", testTls.client.cert);
      directory.replace("tls.key", testTls.key.toString());
      await eventually(
        () =>
          source
            .status()
            .error?.startsWith(`--client-cert-file (or "clientCertPath") ${files.clientCertPath} with`) ===
          true,
        "a pair that does not fit is named",
      );
      directory.replace("tls.key", testTls.client.key);
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("uses no public authority in place of a file without any", async () => {
      directory.replace("ca.crt", "");
      const certPath = directory.file("ca.crt");
      const { source, probe } = run({ target: await server.start(), isTls: true, certPath });
      await probe.failure("certificate");
      expect(source.status().error).to.equal(
        `--ca-file (or "certPath") ${certPath} can't be used: it has no certificate in PEM`,
      );
    });

    it("expects the certificate of the service behind an envoy", async () => {
      const target = await server.start();
      const tls = { target, isTls: true, certPath: testTls.caFile };
      const { source, probe } = run({ ...tls, authority: "flags.service" });
      await probe.failure("unavailable");
      expect(source.status().error).to.match(/does not match|altnames/i);
      const named = run({ ...tls, authority: "localhost" });
      const stream = await server.nextStream();
      expect(stream.authority).to.equal("localhost");
      stream.send(document);
      expect(await named.probe.nextDocument()).to.equal(document);
    });
  });

  describe("a stream", () => {
    it("that stays without a document is the answer that there is none, until one comes", async () => {
      const { source, probe } = run(
        { target: await server.start(), selector: "a/b" },
        { firstDocumentTimeoutMs: 20 },
      );
      const stream = await server.nextStream();
      expect(probe.answersWithout).to.deep.equal([]);
      stream.headers();
      await eventually(() => probe.answersWithout.length === 1, "the answer");
      expect(source.status().warning).to.contain("no flags for a/b");
      stream.send("{}");
      await probe.nextDocument();
      expect(source.status()).to.include({ state: "connected", warning: undefined });
    });

    it("that ends with NOT_FOUND is the answer that there is no document; with another status it is none", async () => {
      const { probe } = run({ target: await server.start() });
      (await server.nextStream()).fail({ code: status.UNKNOWN });
      const second = await server.nextStream();
      expect(probe.answersWithout).to.deep.equal([]);
      second.fail({ code: status.NOT_FOUND });
      await eventually(() => probe.answersWithout.length === 1, "the answer");
    });

    it("carries the selector as header and field, the provider's id and further headers", async () => {
      run({
        target: await server.start(),
        selector: "demo/flags",
        providerId: "agent-7",
        headers: { authorization: "Bearer x", "x-tenant": "blue" },
      });
      const { request, metadata } = await server.nextStream();
      expect(request).to.deep.equal({ selector: "demo/flags", providerId: "agent-7" });
      expect(metadata.get("flagd-selector")).to.deep.equal(["demo/flags"]);
      expect(metadata.get("authorization")).to.deep.equal(["Bearer x"]);
      expect(metadata.get("x-tenant")).to.deep.equal(["blue"]);
    });

    it("leaves the header flagd-selector as the source's headers have it: servers prefer it to the field", async () => {
      run({
        target: await server.start(),
        selector: "flagSetId=field",
        headers: { "flagd-selector": "flagSetId=header" },
      });
      const { request, metadata } = await server.nextStream();
      expect(request.selector).to.equal("flagSetId=field");
      expect(metadata.get("flagd-selector")).to.deep.equal(["flagSetId=header"]);
    });

    it("has neither a selector nor a deadline unless asked for", async () => {
      run({ target: await server.start() });
      const { request, metadata } = await server.nextStream();
      expect(request.selector).to.equal("");
      expect(metadata.getMap()).to.not.have.any.keys("flagd-selector", "grpc-timeout");
    });

    it("names the configured authority", async () => {
      run({ target: await server.start(), authority: "flags.example" });
      expect((await server.nextStream()).authority).to.equal("flags.example");
    });

    it("delivers every document as bytes, without the context beside it, and with the source's place in the list", async () => {
      const { probe, source } = run({ target: await server.start(), sourceIndex: 5 });
      const stream = await server.nextStream();
      stream.send(document, { region: "eu" });
      stream.send('{"flags":{"é":{}}}');
      const [first, second] = [await probe.deliveries.nextEvent(), await probe.deliveries.nextEvent()];
      expect(first).to.deep.equal({
        sourceIndex: 5,
        bytes: Buffer.from(document),
      });
      expect(second).to.deep.equal({
        sourceIndex: 5,
        bytes: Buffer.from('{"flags":{"é":{}}}'),
      });
      expect(source.status()).to.include({ state: "connected", error: undefined, sourceIndex: 5 });
    });

    it("without a document yet counts as connected", async () => {
      const { source } = run({ target: await server.start() });
      const stream = await server.nextStream();
      expect(source.status().state).to.equal("connecting");
      stream.headers();
      await eventually(() => source.status().state === "connected", "connected");
      expect(source.status().lastUpdate).to.equal(undefined);
    });

    it("stays open when a document is refused: another may follow", async () => {
      const { probe, source } = run({ target: await server.start() });
      probe.isAccepting = false;
      const stream = await server.nextStream();
      stream.send("not a document");
      expect(await probe.nextDocument()).to.equal("not a document");
      expect(source.status()).to.have.property("lastUpdate", undefined);
      expect(source.status().warning).to.contain("its newest document is refused");
      probe.isAccepting = true;
      stream.send(document);
      expect(await probe.nextDocument()).to.equal(document);
      expect(source.status().state).to.equal("connected");
      expect(server.relay.accepted).to.equal(1);
      expect(server.streams.size).to.equal(0);
    });

    it("rejects if `deliver` throws", async () => {
      const probe = new SourceProbe();
      const options = {
        ...probe.options,
        receiver: {
          ...probe.options.receiver,
          deliver: (): never => {
            throw new TypeError("a bug");
          },
        },
      };
      const source = new GrpcSource(partsOf(grpcConfig(await server.start()), options));
      const ended = source.run(new AbortController().signal).catch((error: unknown) => error);
      (await server.nextStream()).send(document);
      expect(await ended).to.be.instanceOf(TypeError);
    });
  });

  describe("an end of the stream", () => {
    // Upstream's proxy ends streams with OK when it stops; the JS provider then stays where it is, for ever.
    it("with OK is like any other: the stream is opened again", async () => {
      const { probe, source } = run({ target: await server.start() });
      const first = await server.nextStream();
      first.send(document);
      await probe.nextDocument();
      first.end();
      const second = await server.nextStream();
      expect(source.status()).to.include({ state: "disconnected", error: "the server ended the stream" });
      second.send('{"flags":{"newer":{}}}');
      expect(await probe.nextDocument()).to.equal('{"flags":{"newer":{}}}');
      expect(source.status()).to.include({ state: "connected", error: undefined });
    });

    for (const code of [
      status.UNAVAILABLE,
      status.NOT_FOUND,
      status.CANCELLED,
      status.PERMISSION_DENIED,
      status.UNIMPLEMENTED,
      status.UNKNOWN,
    ]) {
      it(`with ${status[code]} opens another, and keeps what was delivered`, async () => {
        const { probe, source } = run({ target: await server.start() });
        const first = await server.nextStream();
        first.send(document);
        await probe.nextDocument();
        first.fail({ code, details: "for a reason" });
        const second = await server.nextStream();
        expect(source.status().error).to.equal(`${status[code]}: for a reason`);
        expect(probe.failures).to.deep.equal([status[code].toLowerCase()]);
        second.send(document);
        expect(await probe.nextDocument()).to.equal(document);
        expect(probe.deliveries.size).to.equal(0);
      });
    }

    it("that is sent right behind a document does not lose the document", async () => {
      const { probe } = run({ target: await server.start() });
      const stream = await server.nextStream();
      stream.send(document);
      stream.end();
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("by a cut connection opens another", async () => {
      const { probe } = run({ target: await server.start() });
      (await server.nextStream()).send(document);
      await probe.nextDocument();
      server.relay.cut();
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
      expect(probe.failures).to.deep.equal(["unavailable"]);
    });

    it("with a code that does not exist opens another", async () => {
      const { probe } = run({ target: await server.start() });
      (await server.nextStream()).fail({ code: 99, details: "?" });
      await server.nextStream();
      expect(probe.failures).to.deep.equal(["unknown"]);
    });

    it("is logged once, however often it is repeated", async () => {
      const { probe } = run({ target: await server.start() });
      for (let i = 0; i < 3; i++) (await server.nextStream()).fail({ code: status.NOT_FOUND });
      const stream = await server.nextStream();
      stream.send(document);
      await probe.nextDocument();
      expect(probe.logs.map(({ level, reason }) => `${level} ${reason ?? ""}`)).to.deep.equal([
        "warn not_found",
        "info ",
      ]);
    });
  });

  describe("an unreachable server", () => {
    /** The longest wait after so many others. */
    const waitBound = (others: number): number => Math.min(5_000, 150 * 1.25 ** others);

    // S-2: flagd ends when its first call fails.
    it("at the start is waited for", async () => {
      const { probe, source } = run({ target: await server.reserve() });
      await probe.failure("unavailable");
      expect(source.status()).to.include({ state: "connecting", lastUpdate: undefined });
      expect(source.status().error).to.match(/UNAVAILABLE.*ECONNREFUSED/);
      await server.start();
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
      expect(source.status()).to.include({ state: "connected", error: undefined });
    });

    it("is tried again within 0.15 s at first, then after a tenth of the time so far, and finally every 2 s, where nothing listens", async () => {
      const clock = new ManualClock();
      const { probe } = run({ target: await server.reserve() }, {}, new SourceProbe(clock));
      const bounds = Array.from({ length: 37 }, (_, tries) => Math.min(2_000, 150 * 1.08 ** tries));
      expect(bounds.at(-2)).to.equal(2_000);
      const startedMs = clock.monotonicMs();
      for (const [i, boundMs] of bounds.entries()) {
        await waitsAfter(i + 1, probe, clock);
        const awayMs = clock.monotonicMs() - startedMs;
        expect(boundMs, `after ${awayMs} ms`).to.be.at.most(Math.max(300, 0.15 * awayMs));
        clock.advance(boundMs / 2 - 1);
        expect(clock.pendingTimers, `no try in the first half of ${boundMs} ms`).to.equal(1);
        expect(probe.failures.length).to.equal(i + 1);
        clock.advance(boundMs / 2 + 1);
      }
      await waitsAfter(bounds.length + 1, probe, clock);
      // The pace of each source that lost the proxy together: none has tried more often.
      expect(clock.monotonicMs() - startedMs).to.be.greaterThan(25_000);
    });

    it("is tried again at once after a stream that lasted for 10 s from its first document, then as after a start", async () => {
      const clock = new ManualClock();
      const { probe } = run({ target: await server.start() }, {}, new SourceProbe(clock));
      for (let failures = 1; failures <= 4; failures++) {
        const stream = await server.nextStream();
        stream.headers();
        // That it was open counts for nothing before there is a document.
        clock.advance(60_000);
        stream.fail({ code: status.UNAVAILABLE });
        await waitsAfter(failures, probe, clock);
        clock.advance(failures < 4 ? 10_000 : waitBound(3) / 2 - 1);
      }
      expect(clock.pendingTimers).to.equal(1);
      clock.advance(waitBound(3) / 2 + 1);
      const stream = await server.nextStream();
      stream.send(document);
      await probe.nextDocument();
      clock.advance(9_000);
      stream.send(document);
      await probe.nextDocument();
      clock.advance(1_000);
      stream.fail({ code: status.UNAVAILABLE });
      await waitsAfter(5, probe, clock);
      // All agents lose a proxy that restarts at the same time.
      clock.advance(100);
      (await server.nextStream()).fail({ code: status.UNAVAILABLE });
      await waitsAfter(6, probe, clock);
      clock.advance(74);
      expect(clock.pendingTimers).to.equal(1);
      clock.advance(76);
      await server.nextStream();
    });

    it("is tried less and less often if it ends each stream soon after a document", async () => {
      const clock = new ManualClock();
      const { probe } = run({ target: await server.start() }, {}, new SourceProbe(clock));
      for (let i = 0; i < 6; i++) {
        const boundMs = waitBound(i);
        const stream = await server.nextStream();
        stream.send(document);
        await probe.nextDocument();
        clock.advance(9_999);
        stream.end();
        await waitsAfter(i + 1, probe, clock);
        clock.advance(boundMs / 2 - 1);
        expect(clock.pendingTimers, `no try in the first half of ${boundMs} ms`).to.equal(1);
        expect(server.streams.size).to.equal(0);
        clock.advance(boundMs / 2 + 1);
      }
      await server.nextStream();
    });

    it("decides when it is tried again, up to 10 s", async () => {
      const clock = new ManualClock();
      const { probe } = run({ target: await server.start() }, {}, new SourceProbe(clock));
      const pushbacks = [
        ["7000", 7_000],
        ["86400000", 10_000],
        // The third wait at least.
        ["0", 200],
        // An invalid value is ignored.
        ["-1", 2_400],
        ["soon", 4_800],
      ] as const;
      for (const [i, [text, waitMs]] of pushbacks.entries()) {
        const metadata = new Metadata();
        metadata.set("grpc-retry-pushback-ms", text);
        (await server.nextStream()).fail({ code: status.UNAVAILABLE, metadata });
        await waitsAfter(i + 1, probe, clock);
        if (i < 3) {
          clock.advance(text === "0" ? waitMs / 2 - 1 : waitMs - 1);
          expect(clock.pendingTimers, text).to.equal(1);
          clock.advance(waitMs);
        } else {
          clock.advance(waitMs);
        }
      }
      await server.nextStream();
    });

    it("is found again at a new address of its name", async () => {
      const { probe } = run({ target: `dns:///localhost:${(await server.reserve()).split(":")[1] ?? ""}` });
      await probe.failure("unavailable");
      await server.start();
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });
  });

  describe("a server that is silent", () => {
    it("on an open stream is left for another connection, since it does not answer pings", async () => {
      const timing = { keepaliveMs: 500, keepaliveTimeoutMs: 1_000 };
      const { probe } = run({ target: await server.start() }, timing);
      (await server.nextStream()).send(document);
      await probe.nextDocument();
      server.relay.silence();
      await probe.failure("unavailable");
      server.relay.speak();
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("from the first byte is given up, and its connections are closed", async () => {
      const clock = new ManualClock();
      const target = await server.start();
      server.relay.silence();
      const { probe } = run({ target }, {}, new SourceProbe(clock));
      for (let i = 1; i <= 3; i++) {
        await eventually(() => server.relay.accepted === i && server.relay.open === 1, "a connection");
        clock.advance(9_999);
        expect(probe.failures.length).to.equal(i - 1);
        clock.advance(1);
        await waitsAfter(i, probe, clock);
        await eventually(() => server.relay.open === 0, "the connection is closed");
        if (i === 3) server.relay.speak();
        clock.advance(10_000);
      }
      expect(new Set(probe.failures)).to.deep.equal(new Set(["connect_timeout"]));
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("after accepting the stream is not a failure: there may be no flags yet", async () => {
      const clock = new ManualClock();
      const { probe, source } = run({ target: await server.start() }, {}, new SourceProbe(clock));
      const stream = await server.nextStream();
      clock.advance(60_000);
      stream.send(document);
      expect(await probe.nextDocument()).to.equal(document);
      expect(probe.failures).to.deep.equal([]);
      expect(source.status().state).to.equal("connected");
    });
  });

  describe("an unusable answer or target", () => {
    it("refuses a document that is too large before it is read, with a message, until a smaller one comes", async () => {
      const { probe, source } = run(
        { target: await server.start() },
        {},
        new SourceProbe(undefined, 100_000),
      );
      const first = await server.nextStream();
      first.send(document);
      await probe.nextDocument();
      first.send("x".repeat(200_000));
      const second = await server.nextStream();
      expect(source.status().error).to.equal(
        "the flag document is larger than 100000 bytes, which is what this agent has memory for: give it more memory, or select fewer flags",
      );
      second.send("x".repeat(200_000));
      const third = await server.nextStream();
      third.headers();
      expect(probe.logs.map(({ level, reason }) => `${level} ${reason ?? ""}`)).to.deep.equal([
        "info ",
        "warn too_large",
      ]);
      third.send('{"flags":{"small":{}}}');
      expect(await probe.nextDocument()).to.equal('{"flags":{"small":{}}}');
      expect(source.status()).to.include({ state: "connected", error: undefined });
    });

    it("asks again for flag sets that are too large together", async () => {
      const target = await server.start();
      const { probe, source } = run({ target, isIncremental: true }, {}, new SourceProbe(undefined, 2_000));
      const set = (note: string): string =>
        JSON.stringify({ metadata: { flagSetId: "a", note }, flags: { x: {}, y: {}, z: {} } });
      // Each flag has the metadata of its set.
      (await server.nextStream()).send(set("x".repeat(1_000)));
      const second = await server.nextStream();
      expect(source.status().error).to.contain("the flag document is larger than 2000 bytes");
      second.send(set(""));
      expect(await probe.nextDocument()).to.contain('"key":"z"');
    });

    it("names maxMsgSize if that is the limit", async () => {
      const { source } = run({ target: await server.start(), maxMessageBytes: 1_000 });
      (await server.nextStream()).send("x".repeat(1_000));
      await server.nextStream();
      expect(source.status().error).to.match(/larger than 1000 bytes, which is the "maxMsgSize"/);
    });

    it("ends the stream on an invalid message, and opens another", async () => {
      const { probe, source } = run({ target: await server.start() });
      (await server.nextStream()).sendBytes(Buffer.from([0x0a, 0x7f, 0x00]));
      const second = await server.nextStream();
      expect(source.status().error).to.equal("received an invalid SyncFlagsResponse: the message is cut off");
      expect(probe.failures).to.deep.equal(["malformed"]);
      second.send(document);
      expect(await probe.nextDocument()).to.equal(document);
    });

    it("reports that an HTML page was received", async () => {
      const web = createServer().on("stream", (stream: ServerHttp2Stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html" });
        stream.end("<html>hello, this is long enough to be taken for a message</html>");
      });
      const { source } = run({ target: await listenBehind(web) });
      await eventually(() => source.status().error?.includes("not a gRPC server") === true, "the error");
    });

    it("treats a port that speaks HTTP/1.1 as an unreachable server", async () => {
      const web = createHttp1Server((_request, response) => void response.end("hello"));
      const { probe } = run({ target: await listenBehind(web) });
      await probe.failure("unavailable");
    });

    it("reports a target that grpc-js does not know, and tries again", async () => {
      const { probe, source } = run({ target: "host:port" });
      await eventually(() => probe.failures.length === 2, "two tries");
      expect(source.status().error).to.match(/Failed to parse DNS address/);
    });

    let others: { close(): unknown }[] = [];
    beforeEach(() => {
      others = [];
    });
    // What is open still closes with the relay.
    afterEach(() => {
      for (const other of others) other.close();
    });

    async function listenBehind(other: Http2Server | ReturnType<typeof createHttp1Server>): Promise<string> {
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      others.push(other);
      server.relay.target = (other.address() as AddressInfo).port;
      await server.relay.listen();
      return server.target;
    }
  });

  for (const encoding of [undefined, "br"])
    it(`goes on after a message that is compressed in a way that it can't unpack (${encoding ?? "none is named"})`, async () => {
      const packing = createServer().on("session", (session) => session.on("error", () => undefined));
      packing.on("stream", (stream: ServerHttp2Stream) => {
        stream.on("error", () => undefined);
        const named = encoding === undefined ? {} : { "grpc-encoding": encoding };
        stream.respond({ ":status": 200, "content-type": "application/grpc", ...named });
        stream.write(Buffer.from([1, 0, 0, 0, 1, 0]));
      });
      await new Promise<void>((resolve) => packing.listen(0, "127.0.0.1", resolve));
      try {
        server.relay.target = (packing.address() as AddressInfo).port;
        await server.relay.listen();
        const { probe, source } = run({ target: server.target });
        await eventually(() => probe.failures.length >= 2, "it tries again");
        expect(source.status().error).to.contain("a message is compressed, but");
      } finally {
        packing.close();
      }
    });

  it("sends fewer pings, in two steps, to a server that finds them too frequent", async () => {
    const strict = createServer().on("session", (session) => {
      session.on("ping", () => {
        session.goaway(11, 0x7fffffff, Buffer.from("too_many_pings"));
        setImmediate(() => session.destroy());
      });
      session.on("error", () => undefined);
    });
    strict.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
    });
    await new Promise<void>((resolve) => strict.listen(0, "127.0.0.1", resolve));
    try {
      server.relay.target = (strict.address() as AddressInfo).port;
      await server.relay.listen();
      const { probe, source } = run({ target: server.target }, { keepaliveMs: 30 });
      await eventually(() => probe.failures.length === 2, "two steps");
      expect(probe.failures).to.deep.equal(["enhance_your_calm", "enhance_your_calm"]);
      expect(source.status().error).to.equal(
        "the server wants fewer pings: the agent now sends one every 0.48 s",
      );
    } finally {
      strict.close();
    }
  });

  it("keeps its pings for a server that refuses a stream with the code of too many, before there was one", async () => {
    const calm = createServer().on("session", (session) => session.on("error", () => undefined));
    calm.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      stream.close(11);
    });
    await new Promise<void>((resolve) => calm.listen(0, "127.0.0.1", resolve));
    try {
      server.relay.target = (calm.address() as AddressInfo).port;
      await server.relay.listen();
      const { probe, source } = run({ target: server.target });
      await eventually(() => probe.failures.length === 2, "two attempts");
      expect(probe.failures).to.deep.equal(["enhance_your_calm", "enhance_your_calm"]);
      expect(source.status().error).to.match(/^Bandwidth exhausted/);
    } finally {
      calm.close();
    }
  });

  describe("stopping", () => {
    const phases: Readonly<Record<string, () => Promise<string>>> = {
      "while it waits to try again": () => server.reserve(),
      "while it connects to a server that is silent": async () => {
        const target = await server.start();
        server.relay.silence();
        return target;
      },
      "while its stream is held": () => server.start(),
    };
    for (const [phase, target] of Object.entries(phases)) {
      it(`${phase} leaves no connection and no timer`, async () => {
        const clock = new ManualClock();
        const probe = new SourceProbe(clock);
        const { stop, source } = run({ target: await target() }, {}, probe);
        await eventually(() => clock.pendingTimers === 1, "it runs");
        await eventually(
          () => server.streams.size === 1 || server.relay.open === 1 || probe.failures.length === 1,
          phase,
        );
        await stop();
        expect(clock.pendingTimers).to.equal(0);
        expect(source.status().state).to.equal("connecting");
        await eventually(() => server.relay.open === 0, "no connection is left");
      });
    }

    it("ends the stream at the server, delivers nothing more, and is not a failure", async () => {
      const { probe, stop } = run({ target: await server.start() });
      const stream = await server.nextStream();
      stream.send(document);
      await probe.nextDocument();
      const stopped = stop();
      stream.send(document);
      await stopped;
      await stream.cancelled;
      expect(probe.deliveries.size).to.equal(0);
      expect(probe.failures).to.deep.equal([]);
    });

    it("before it started opens nothing", async () => {
      const target = await server.start();
      await new GrpcSource(partsOf(grpcConfig(target), new SourceProbe().options)).run(AbortSignal.abort());
      expect(server.relay.accepted).to.equal(0);
    });
  });

  it("uses one connection for all streams to a server that stays", async () => {
    const { probe } = run({ target: await server.start() });
    for (let i = 0; i < 3; i++) (await server.nextStream()).fail({ code: status.NOT_FOUND });
    await server.nextStream();
    expect(server.relay.accepted, JSON.stringify(probe.logs)).to.equal(1);
    expect(probe.failures).to.deep.equal(["not_found", "not_found", "not_found"]);
  });

  it("opens one connection for each attempt that fails", async () => {
    const clock = new ManualClock();
    const accepted = new EventQueue<number>();
    const gate = createTcpServer((socket) => {
      accepted.push(0);
      socket.on("error", () => undefined).destroy();
    });
    await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
    try {
      const target = `127.0.0.1:${(gate.address() as AddressInfo).port}`;
      const { probe } = run({ target }, {}, new SourceProbe(clock));
      for (let attempt = 1; attempt <= 3; attempt++) {
        await accepted.nextEvent(`connection ${attempt}`);
        await waitsAfter(attempt, probe, clock);
        clock.advance(5_000);
      }
      await accepted.nextEvent("connection 4");
      await waitsAfter(4, probe, clock);
      // By itself grpc-js tries again after 1.2 s at most: its timers are of this process, and fire before this one.
      await delay(1_300);
      expect(accepted.size).to.equal(0);
    } finally {
      gate.close();
    }
  });

  it("connects to a unix socket", async () => {
    const directory = new TempDirectory();
    const path = directory.file("sync.sock");
    await server.start();
    const gate = createTcpServer((client) => {
      const onward = connect(server.relay.port, "127.0.0.1");
      client.pipe(onward).pipe(client);
      client.on("error", () => undefined).on("close", () => onward.destroy());
      onward.on("error", () => client.destroy());
    });
    await new Promise<void>((resolve) => gate.listen(path, resolve));
    try {
      const { probe, stop } = run({ target: `unix:${path}` });
      (await server.nextStream()).send(document);
      expect(await probe.nextDocument()).to.equal(document);
      await stop();
    } finally {
      gate.close();
      directory.remove();
    }
  });
});

/** Resolves once the source has failed so often and waits for the clock. */
async function waitsAfter(failures: number, probe: SourceProbe, clock: ManualClock): Promise<void> {
  await eventually(
    () => probe.failures.length === failures && clock.pendingTimers === 1,
    `waiting after failure ${failures}`,
  );
}
