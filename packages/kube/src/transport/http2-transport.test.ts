import { once } from "node:events";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Readable } from "node:stream";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { constants } from "node:http2";
import { expect } from "chai";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { CredentialHeaders } from "../config/cluster-config.js";
import { clusterTlsFiles } from "../config/tls-files.js";
import { KubeError, type KubeErrorCode } from "../kube-error.js";
import { Http2Transport } from "./http2-transport.js";
import type { KubeRequest } from "./kube-transport.js";
import {
  answerAll,
  clusterOf,
  eventsOf,
  failure,
  ScriptedServer,
  textOf,
  tlsFixture,
} from "./transport.fixture.js";
import type { TransportOptions } from "./transport-options.js";

const watch: KubeRequest = { method: "GET", path: "/x?watch=true", kind: "watch" };
const call: KubeRequest = { method: "GET", path: "/x", kind: "call" };

describe("Http2Transport", () => {
  let server: ScriptedServer;
  let clock: ManualClock;
  let abort: AbortController;
  let transports: Http2Transport[];

  beforeEach(async () => {
    server = await new ScriptedServer().start();
    clock = new ManualClock();
    abort = new AbortController();
    transports = [];
  });
  afterEach(async () => {
    try {
      for (const transport of transports) await transport.close();
      server.relay.release();
      await eventually(() => server.relay.open === 0, "no connection is left");
      expect(clock.pendingTimers, "timers left").to.equal(0);
    } finally {
      await server.stop();
    }
  });

  function transportTo(cluster = clusterOf(server), options: TransportOptions = {}): Http2Transport {
    const transport = new Http2Transport(cluster, { clock, ...options });
    transports.push(transport);
    return transport;
  }

  async function opened(transport: Http2Transport, request = watch): Promise<Readable> {
    const asked = transport.request(request, abort.signal);
    const seen = await server.next();
    seen.head(200);
    const { status, body } = await asked;
    expect(status).to.equal(200);
    return body;
  }

  describe("a request", () => {
    it("carries method, path, headers and body, and its answer status, headers and body", async () => {
      const transport = transportTo(clusterOf(server, { path: "/clusters/one/" }));
      const asked = transport.request(
        {
          method: "POST",
          path: "/apis/a%2Fb?x=1",
          kind: "call",
          headers: { "content-type": "a/b" },
          body: Buffer.from("{é}"),
        },
        abort.signal,
      );
      const seen = await server.next();
      expect([seen.method, seen.path]).to.deep.equal(["POST", "/clusters/one/apis/a%2Fb?x=1"]);
      expect(seen.headers).to.include({ "content-type": "a/b", accept: "application/json" });
      expect(await seen.body()).to.equal("{é}");
      seen.head(201, { "x-more": "yes" });
      seen.end("done");
      const { status, headers, body } = await asked;
      expect([status, headers["x-more"], await textOf(body)]).to.deep.equal([201, "yes", "done"]);
    });

    it("of the kind call never shares a session with watches", async () => {
      const transport = transportTo();
      await opened(transport);
      const watching = [...server.sessions];
      const asked = transport.request(call, abort.signal);
      const seen = await server.next();
      expect(watching).to.not.include(seen.session);
      seen.head(200);
      seen.end();
      await textOf((await asked).body);
      expect(server.sessionsSeen).to.equal(2);
    });

    it("brings a body larger than the windows, however slowly it is read", async () => {
      const body = await opened(transportTo(), { ...call, path: "/big" });
      const seen = [...server.sessions][0];
      expect(seen).to.not.equal(undefined);
      body.destroy();
      const asked = transportTo().request({ ...call, path: "/bigger" }, abort.signal);
      const bigger = await server.next();
      bigger.head(200);
      bigger.end("x".repeat(20_000_000));
      const { body: large } = await asked;
      let size = 0;
      for await (const chunk of large as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(size).to.equal(20_000_000);
    });
  });

  describe("the session pool", () => {
    it("answers 250 watches that start at once, over three sessions of 100 streams", async () => {
      server.answer = answerAll;
      const transport = transportTo();
      const answers = await Promise.all(
        Array.from({ length: 250 }, () => transport.request(watch, abort.signal)),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 250 }, () => 200));
      expect(server.sessionsSeen).to.equal(3);
    });

    it("keeps to the server's limit, below 100 too, and gives freed slots to waiting requests", async () => {
      await server.stop();
      server = await new ScriptedServer().start({ maxConcurrentStreams: 3 });
      server.answer = answerAll;
      const transport = transportTo();
      const answers = await Promise.all(
        Array.from({ length: 7 }, () => transport.request(watch, abort.signal)),
      );
      expect(server.sessionsSeen).to.equal(3);
      answers[0]?.body.destroy();
      await server.resets.nextEvent();
      await eventually(() => transport.request(watch, abort.signal).then(() => true), "another watch");
      expect(server.sessionsSeen).to.equal(3);
    });

    describe("with speculative watches", () => {
      /** Speculative until `exists` is set. */
      const speculative = (): KubeRequest & { exists: boolean } => {
        const request: KubeRequest & { exists: boolean } = {
          ...watch,
          exists: false,
          priority: () => (request.exists ? "normal" : "speculative"),
        };
        return request;
      };

      it("brings events of a normal watch while the session with 50 speculative watches is stalled", async () => {
        const transport = transportTo();
        const known = speculative();
        const asked = transport.request(known, abort.signal);
        const seen = await server.next();
        seen.head(200);
        const { body } = await asked;
        known.exists = true;
        const others = Array.from({ length: 50 }, () =>
          failure(transport.request(speculative(), abort.signal)),
        );
        for (let count = 0; count < 50; count++) {
          expect((await server.next()).session).to.not.equal(seen.session);
        }
        server.relay.stallNewest();
        seen.write("event");
        expect(String((await once(body, "data"))[0])).to.equal("event");
        expect(server.sessionsSeen).to.equal(2);
        abort.abort();
        for (const error of await Promise.all(others)) expectCode(error, "ABORTED");
      });

      it("opens normal watches on a session without speculative ones, even if one of these came first", async () => {
        server.answer = answerAll;
        const transport = transportTo();
        await transport.request(speculative(), abort.signal);
        const [first] = server.sessions;
        await transport.request(watch, abort.signal);
        await transport.request(speculative(), abort.signal);
        await transport.request(watch, abort.signal);
        const sessions: boolean[] = [];
        for (let count = 0; count < 4; count++) sessions.push((await server.next()).session === first);
        expect(sessions).to.deep.equal([true, false, true, false]);
      });

      it("opens no third session with room, whatever turns out to exist", async () => {
        server.answer = answerAll;
        const transport = transportTo();
        for (let count = 0; count < 20; count++) {
          const request = speculative();
          await transport.request(request, abort.signal);
          request.exists = true;
        }
        expect(server.sessionsSeen).to.equal(2);
      });

      it("shares a session where no other can be opened", async () => {
        server.answer = answerAll;
        const transport = transportTo();
        await transport.request(watch, abort.signal);
        server.relay.refuse();
        expect(await transport.request(speculative(), abort.signal)).to.have.property("status", 200);
        expect(server.sessionsSeen).to.equal(1);
      });
    });

    it("sends nothing before the server's settings have come", async () => {
      const raw = new RawHttp2Server();
      await raw.start();
      const transport = transportTo({
        ...clusterOf(server),
        server: raw.url,
      });
      const asked = transport.request(watch, abort.signal).catch((error: unknown) => error);
      // SETTINGS and WINDOW_UPDATE are the session's own.
      expect(await raw.frames.nextEvent()).to.equal(4);
      const early: number[] = [];
      const stopAt = Date.now() + 150;
      while (Date.now() < stopAt) {
        early.push(...(await raw.drain()));
      }
      expect(early.filter((type) => type !== 8)).to.deep.equal([]);
      raw.sendSettings();
      await raw.frames.nextMatching((type) => type === 1, "the request");
      raw.stop();
      expectCode(await asked, "CONNECTION_LOST");
    });

    it("gives up a server that sends no settings", async () => {
      const raw = new RawHttp2Server();
      await raw.start();
      const transport = transportTo({
        ...clusterOf(server),
        server: raw.url,
      });
      const asked = Promise.all([
        failure(transport.request(watch, abort.signal)),
        failure(transport.request(watch, abort.signal)),
      ]);
      await raw.frames.nextEvent();
      clock.advance(10_000);
      for (const error of await asked) expectCode(error, "TIMEOUT", "did not answer within 10000 ms");
      raw.stop();
    });

    it("gives up a server that never finishes the TLS handshake", async () => {
      const silent = createTcpServer((socket) => socket.on("error", () => undefined));
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      const accepted = new Promise<void>((resolve) => silent.once("connection", () => resolve()));
      const { port } = silent.address() as AddressInfo;
      const transport = transportTo({ ...clusterOf(server), server: new URL(`https://127.0.0.1:${port}`) });
      const asked = failure(transport.request(call, abort.signal));
      await accepted;
      clock.advance(10_000);
      expectCode(await asked, "TIMEOUT");
      await new Promise((resolve) => silent.close(resolve));
    });

    it("closes a session after a minute without use, and opens another for a later request", async () => {
      const transport = transportTo();
      const body = await opened(transport);
      body.destroy();
      await server.resets.nextEvent();
      // The slot is free only once our side has seen the end of the stream, too.
      await eventually(() => (clock.advance(10_000), server.sessions.size === 0), "the idle session closed");
      await opened(transport);
      expect(server.sessionsSeen).to.equal(2);
    });
  });

  describe("GOAWAY", () => {
    it("lets open watches continue, and sends new requests over another session", async () => {
      const transport = transportTo();
      const asked = transport.request(watch, abort.signal);
      const first = await server.next();
      first.head(200);
      const { body } = await asked;
      const lines = eventsOf(body);
      first.session?.goaway();
      first.write("one\n");
      expect(await lines.nextEvent()).to.equal("one\n");
      await opened(transport);
      expect(server.sessionsSeen).to.equal(2);
      first.write("two\n");
      expect(await lines.nextEvent()).to.equal("two\n");
      first.end();
      expect(await lines.nextEvent()).to.equal("end");
      await eventually(() => server.sessions.size === 1, "the first session is over");
    });

    it("on the session of calls, as after a 401, fails no call", async () => {
      const transport = transportTo();
      await opened(transport);
      const ended = new Set<unknown>();
      server.answer = (request) => {
        if (request.path.includes("watch")) return;
        request.head(401);
        request.end("{}");
        if (!ended.has(request.session)) request.session?.goaway();
        ended.add(request.session);
      };
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all([1, 2, 3].map(() => transport.request(call, abort.signal)));
        for (const { status, body } of answers) {
          expect(status).to.equal(401);
          await textOf(body);
        }
      }
      expect(server.sessions.size).to.be.greaterThan(0);
    });

    it("is retried for a stream that the server refused unprocessed", async () => {
      const transport = transportTo();
      const asked = transport.request(call, abort.signal);
      (await server.next()).stream?.close(constants.NGHTTP2_REFUSED_STREAM);
      const again = await server.next("the second try");
      again.head(200);
      again.end();
      expect((await asked).status).to.equal(200);
    });

    it("does not make the transport dial for ever when the server refuses everything", async () => {
      server.answer = ({ stream }) => stream?.close(constants.NGHTTP2_REFUSED_STREAM);
      expectCode(
        await failure(transportTo().request(call, abort.signal)),
        "CONNECTION_LOST",
        "refused the request",
      );
      expect(server.requests.size).to.equal(4);
    });
  });

  describe("a broken connection", () => {
    for (const how of ["reset", "fin"] as const) {
      it(`(${how}) ends a body with an error, never like a proper end`, async () => {
        const lines = eventsOf(await opened(transportTo()));
        server.relay.cut(how);
        expect(await lines.nextEvent()).to.equal("CONNECTION_LOST");
      });

      it(`(${how}) fails a request that waits for its answer`, async () => {
        const asked = failure(transportTo().request(watch, abort.signal));
        await server.next();
        server.relay.cut(how);
        expectCode(await asked, "CONNECTION_LOST");
      });
    }

    for (const [name, code] of Object.entries({
      CANCEL: constants.NGHTTP2_CANCEL,
      INTERNAL_ERROR: constants.NGHTTP2_INTERNAL_ERROR,
    })) {
      // node's own server ends the body before it resets, so this one is made by hand.
      it(`or a stream that is reset with ${name} is an error`, async () => {
        const raw = new RawHttp2Server();
        await raw.start();
        const transport = transportTo({ ...clusterOf(server), server: raw.url });
        const asked = transport.request(watch, abort.signal);
        await raw.frames.nextEvent();
        raw.sendSettings();
        await raw.frames.nextMatching((type) => type === 1, "the request");
        raw.send(1, 0x4, 1, [0x88]);
        raw.send(0, 0, 1, [...Buffer.from("one\n")]);
        const lines = eventsOf((await asked).body);
        expect(await lines.nextEvent()).to.equal("one\n");
        raw.send(3, 0, 1, [0, 0, 0, code]);
        expect(await lines.nextEvent()).to.equal("CONNECTION_LOST");
        raw.stop();
      });
    }

    it("does not end the process while a body has no listener; a later reader gets the error", async () => {
      const body = await opened(transportTo());
      server.relay.cut();
      await eventually(() => body.destroyed, "the body has failed");
      expectCode(await failure(textOf(body)), "CONNECTION_LOST");
    });

    it("is told apart from a port on which nothing listens", async () => {
      const { port } = server.relay;
      const cluster = clusterOf(server);
      await server.stop();
      const error = await failure(transportTo(cluster).request(call, abort.signal));
      expectCode(error, "CONNECTION_REFUSED", `nothing listens at 127.0.0.1:${port}`);
      server = await new ScriptedServer().start();
    });
  });

  describe("liveness", () => {
    it("finds a black hole by PING: 30 s of silence, 15 s without an answer, then every stream fails", async () => {
      const transport = transportTo();
      const bodies = [await opened(transport), await opened(transport)].map(eventsOf);
      server.relay.stall();
      clock.advance(40_000);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(14_999);
      await new Promise((resolve) => setImmediate(resolve));
      expect(bodies.map(({ size }) => size)).to.deep.equal([0, 0]);
      clock.advance(1);
      for (const lines of bodies) expect(await lines.nextEvent()).to.equal("CONNECTION_LOST");
    });

    it("keeps a session that is quiet but answers", async () => {
      const transport = transportTo();
      const lines = eventsOf(await opened(transport));
      for (let round = 1; round <= 3; round++) {
        await eventually(() => (clock.advance(1_000), server.pings === round), "a PING");
        // The answer comes back while the clock stands still.
        await opened(transport);
      }
      expect(lines.size).to.equal(0);
      expect(server.sessions.size).to.equal(1);
    });

    it("finds a black hole by a PING 10 s after a request, before it would give up the request", async () => {
      const transport = transportTo();
      await opened(transport);
      server.relay.stall();
      const asked = failure(transport.request(watch, abort.signal));
      await eventually(() => (clock.advance(100), clock.now() > 1_700_000_011_200), "ten seconds");
      clock.advance(15_000);
      expectCode(await asked, "CONNECTION_LOST", "did not answer a PING");
    });

    it("waits for the head of a watch for 30 s, as long as the server answers PINGs", async () => {
      const transport = transportTo();
      const asked = failure(transport.request(watch, abort.signal));
      await server.next();
      clock.advance(10_000);
      await eventually(() => server.pings > 0, "a PING");
      // What comes after the answer to the PING proves that it has come.
      await opened(transport);
      clock.advance(19_999);
      await opened(transport);
      clock.advance(1);
      expectCode(await asked, "TIMEOUT", "did not answer within 30000 ms");
      expect(server.sessions.size).to.equal(1);
    });

    it("waits a minute for the head of a call", async () => {
      const transport = transportTo();
      const asked = failure(transport.request(call, abort.signal));
      await server.next();
      // Other requests keep the session busy.
      for (const stepMs of [20_000, 20_000, 19_999]) {
        clock.advance(stepMs);
        await opened(transport, call);
      }
      clock.advance(1);
      expectCode(await asked, "TIMEOUT", "did not answer within 60000 ms");
      expect(await server.resets.nextEvent()).to.equal(constants.NGHTTP2_CANCEL);
    });
  });

  describe("an abort", () => {
    it("before anything was sent rejects, and nothing is sent", async () => {
      abort.abort();
      expectCode(await failure(transportTo().request(call, abort.signal)), "ABORTED");
      expect(server.relay.accepted).to.equal(0);
    });

    it("while the token is awaited rejects", async () => {
      const credentials = {
        headers: () => new Promise<never>(() => undefined),
        renew: () => Promise.resolve(false),
      };
      const asked = failure(transportTo(clusterOf(server, { credentials })).request(call, abort.signal));
      abort.abort();
      expectCode(await asked, "ABORTED");
    });

    it("while the connection is made rejects, and the session serves others", async () => {
      const transport = transportTo();
      const asked = failure(transport.request(call, abort.signal));
      await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
      expectCode(await asked, "ABORTED");
      abort = new AbortController();
      await opened(transport, call);
      expect(server.sessionsSeen).to.equal(1);
    });

    it("while the head is awaited rejects, and resets the stream", async () => {
      const asked = failure(transportTo().request(call, abort.signal));
      await server.next();
      abort.abort();
      expectCode(await asked, "ABORTED");
      expect(await server.resets.nextEvent()).to.equal(constants.NGHTTP2_CANCEL);
    });

    it("during the body ends it with ABORTED, and resets the stream", async () => {
      const lines = eventsOf(await opened(transportTo()));
      abort.abort();
      expect(await lines.nextEvent()).to.equal("ABORTED");
      expect(await server.resets.nextEvent()).to.equal(constants.NGHTTP2_CANCEL);
    });

    it("after the end does nothing, and leaves no listener", async () => {
      server.answer = answerAll;
      const { body } = await transportTo().request(call, abort.signal);
      expect(await textOf(body)).to.equal("{}");
      abort.abort();
      expect(body.errored).to.equal(null);
    });

    it("of 90 watches at once resets a few at a time, on a session that stays open", async () => {
      server.answer = answerAll;
      const transport = transportTo();
      await Promise.all(Array.from({ length: 90 }, () => transport.request(watch, abort.signal)));
      const other = await transport.request(watch, new AbortController().signal);
      abort.abort();
      await server.resets.nextEvent();
      await server.requests.nextEvent();
      const session = [...server.sessions][0];
      let seen = 1;
      while (seen < 90) {
        // Once the PING is answered, everything reset before it is known.
        await new Promise<void>((resolve) => session?.ping(() => resolve()));
        const { size } = server.resets;
        expect(size, "resets in one go").to.be.lessThan(9);
        for (let index = 0; index < size; index++) await server.resets.nextEvent();
        seen += size;
        clock.advance(10);
      }
      expect(other.body.destroyed).to.equal(false);
      expect(server.sessions.size).to.equal(1);
    });
  });

  describe("credentials", () => {
    /** A token that is rotated. */
    class Rotating {
      token = "old";
      current = "old";
      headers = (): Promise<CredentialHeaders> =>
        Promise.resolve({ authorization: `Bearer ${this.current}` });
      renew = (refused: CredentialHeaders): Promise<boolean> => {
        this.current = this.token;
        return Promise.resolve(refused["authorization"] !== `Bearer ${this.current}`);
      };
    }

    beforeEach(() => {
      server.answer = (request) => {
        request.head(request.headers.authorization === "Bearer new" ? 200 : 401);
        request.end(String(request.headers.authorization));
        if (request.headers.authorization !== "Bearer new") request.session?.goaway();
      };
    });

    for (const request of [call, watch]) {
      it(`are read again after a 401, and the ${request.kind} is sent once more`, async () => {
        const credentials = new Rotating();
        credentials.token = "new";
        const { status, body } = await transportTo(clusterOf(server, { credentials })).request(
          request,
          abort.signal,
        );
        expect([status, await textOf(body)]).to.deep.equal([200, "Bearer new"]);
        expect(server.requests.size).to.equal(2);
      });
    }

    it("that stay the same make the 401 the answer, body and all", async () => {
      const { status, body } = await transportTo(clusterOf(server, { credentials: new Rotating() })).request(
        call,
        abort.signal,
      );
      expect([status, await textOf(body)]).to.deep.equal([401, "Bearer old"]);
      expect(server.requests.size).to.equal(1);
    });

    it("that change to another refused one are tried once, not for ever", async () => {
      const credentials = new Rotating();
      credentials.token = "wrong";
      const { status } = await transportTo(clusterOf(server, { credentials })).request(call, abort.signal);
      expect(status).to.equal(401);
      expect(server.requests.size).to.equal(2);
    });

    it("that can't be read fail the request with their own error", async () => {
      const error = new KubeError("CONFIG_INVALID", "no token");
      const credentials = { headers: () => Promise.reject(error), renew: () => Promise.resolve(false) };
      expect(
        await failure(transportTo(clusterOf(server, { credentials })).request(call, abort.signal)),
      ).to.equal(error);
    });
  });

  describe("TLS", () => {
    it("refuses a certificate of an unknown authority, and names the remedy", async () => {
      const tls = { ca: tlsFixture("ca2.crt") };
      expectCode(
        await failure(transportTo(clusterOf(server, { tls })).request(call, abort.signal)),
        "CONNECTION_LOST",
        "certificate authority",
      );
    });

    it("refuses a certificate for other names, unless the name to expect is given", async () => {
      const ca = tlsFixture("ca1.crt");
      const wrong = clusterOf(server, { tls: { ca, serverName: "flags.example" } });
      expectCode(
        await failure(transportTo(wrong).request(call, abort.signal)),
        "CONNECTION_LOST",
        "tls-server-name",
      );
      await opened(transportTo(clusterOf(server, { tls: { ca, serverName: "localhost" } })));
    });

    it("accepts any certificate when told to", async () => {
      await opened(transportTo(clusterOf(server, { tls: { isUnverified: true } })));
    });

    it("shows the client certificate, and says so when one is wanted", async () => {
      await server.stop();
      server = await new ScriptedServer().start({ requiresClientCertificate: true });
      const ca = tlsFixture("ca1.crt");
      expectCode(
        await failure(transportTo(clusterOf(server)).request(call, abort.signal)),
        "CONNECTION_LOST",
        "client-certificate",
      );
      await opened(
        transportTo(
          clusterOf(server, { tls: { ca, cert: tlsFixture("client1.crt"), key: tlsFixture("client1.key") } }),
        ),
      );
    });

    it("reports what is wrong with invalid material", async () => {
      const tls = {
        ca: tlsFixture("ca1.crt"),
        cert: tlsFixture("client1.crt"),
        key: tlsFixture("client2.key"),
      };
      expectCode(
        await failure(transportTo(clusterOf(server, { tls })).request(call, abort.signal)),
        "CONFIG_INVALID",
        "must be PEM",
      );
    });

    it("uses a rotated CA for new sessions, and leaves open ones alone", async () => {
      const directory = new TempDirectory();
      try {
        directory.replace("ca.crt", tlsFixture("ca1.crt"));
        const tls = clusterTlsFiles({ caFile: directory.file("ca.crt") });
        const transport = transportTo({ ...clusterOf(server), tls });
        const lines = eventsOf(await opened(transport));
        directory.replace("ca.crt", tlsFixture("ca2.crt"));
        expectCode(
          await failure(transport.request(call, abort.signal)),
          "CONNECTION_LOST",
          "certificate authority",
        );
        directory.replace("ca.crt", tlsFixture("ca2.crt") + tlsFixture("ca1.crt"));
        await opened(transport, call);
        expect(lines.size).to.equal(0);
        expect(server.sessionsSeen).to.equal(2);
      } finally {
        directory.remove();
      }
    });
  });

  describe("closing", () => {
    it("ends every request and body with ABORTED, and closes all connections", async () => {
      const transport = transportTo();
      const lines = eventsOf(await opened(transport));
      const waiting = failure(transport.request(call, abort.signal));
      await server.next();
      const connecting = failure(transport.request({ ...call, path: "/late" }, abort.signal));
      await transport.close();
      expect(await lines.nextEvent()).to.equal("ABORTED");
      expectCode(await waiting, "ABORTED");
      expectCode(await connecting, "ABORTED");
      expectCode(await failure(transport.request(call, abort.signal)), "ABORTED");
    });

    it("during a handshake leaves nothing behind", async () => {
      const transport = transportTo();
      const asked = failure(transport.request(call, abort.signal));
      await eventually(() => server.relay.accepted === 1, "a connection");
      await transport.close();
      expectCode(await asked, "ABORTED");
    });

    it("is what the abort of run does", async () => {
      const transport = transportTo();
      const stop = new AbortController();
      const running = transport.run(stop.signal);
      const lines = eventsOf(await opened(transport));
      stop.abort();
      await running;
      expect(await lines.nextEvent()).to.equal("ABORTED");
    });
  });
});

/** A server that speaks only TLS: records the types of incoming frames, and sends settings on command. */
class RawHttp2Server {
  readonly frames = new EventQueue<number>();
  readonly #sockets = new Set<TLSSocket>();
  readonly #server = createTlsServer(
    { key: tlsFixture("server1.key"), cert: tlsFixture("server1.crt"), ALPNProtocols: ["h2"] },
    (socket) => this.#onSocket(socket),
  );

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async drain(): Promise<number[]> {
    await new Promise((resolve) => setImmediate(resolve));
    const types: number[] = [];
    while (this.frames.size > 0) types.push(await this.frames.nextEvent());
    return types;
  }

  get url(): URL {
    return new URL(`https://127.0.0.1:${this.port}`);
  }

  sendSettings(): void {
    this.send(4, 0, 0, []);
  }

  send(type: number, flags: number, stream: number, payload: readonly number[]): void {
    const frame = Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream, ...payload]);
    for (const socket of this.#sockets) socket.write(frame);
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #onSocket(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    let buffered = Buffer.alloc(0);
    let isPrefaced = false;
    socket.on("data", (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (!isPrefaced && buffered.length >= 24) {
        buffered = buffered.subarray(24);
        isPrefaced = true;
      }
      while (isPrefaced && buffered.length >= 9) {
        const length = buffered.readUIntBE(0, 3);
        if (buffered.length < 9 + length) break;
        this.frames.push(buffered[3] ?? -1);
        buffered = buffered.subarray(9 + length);
      }
    });
  }
}

function expectCode(error: unknown, code: KubeErrorCode, sentence = ""): void {
  expect(error).to.be.instanceOf(KubeError);
  expect((error as KubeError).code, (error as KubeError).message).to.equal(code);
  expect((error as KubeError).message).to.include(sentence);
}
