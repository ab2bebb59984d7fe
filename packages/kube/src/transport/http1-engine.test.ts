import type { Readable } from "node:stream";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { clusterTlsFiles } from "../config/tls-files.js";
import { KubeError } from "../kube-error.js";
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

const watch: KubeRequest = { method: "GET", path: "/x?watch=true", kind: "watch" };
const call: KubeRequest = { method: "GET", path: "/x", kind: "call" };

for (const kind of ["https", "http"] as const) {
  describe(`Http2Transport to a server that speaks HTTP/1.1 only (${kind})`, () => {
    let server: ScriptedServer;
    let clock: ManualClock;
    let abort: AbortController;
    let transport: Http2Transport;

    beforeEach(async () => {
      server = await new ScriptedServer().start({ kind });
      clock = new ManualClock();
      abort = new AbortController();
      transport = new Http2Transport(clusterOf(server, { scheme: kind, path: "/base" }), { clock });
    });
    afterEach(async () => {
      try {
        await transport.close();
        await eventually(() => server.relay.open === 0, "no connection is left");
        expect(clock.pendingTimers, "timers left").to.equal(0);
      } finally {
        await server.stop();
      }
    });

    it("sends calls with their bodies, and keeps the connection", async () => {
      for (let round = 0; round < 3; round++) {
        const asked = transport.request(
          {
            ...call,
            method: "POST",
            path: "/y?z=1",
            body: Buffer.from("{é}"),
            headers: { "content-type": "a/b" },
          },
          abort.signal,
        );
        const seen = await server.next();
        expect([seen.method, seen.path]).to.deep.equal(["POST", "/base/y?z=1"]);
        expect(seen.headers).to.include({ "content-type": "a/b", "content-length": "4" });
        expect(await seen.body()).to.equal("{é}");
        seen.head(201, { "x-more": "yes" });
        seen.end("done");
        const { status, headers, body } = await asked;
        expect([status, headers["x-more"], await textOf(body)]).to.deep.equal([201, "yes", "done"]);
      }
      expect(server.relay.accepted).to.equal(kind === "https" ? 2 : 1);
    });

    it("keeps any number of watches open, and tells a broken connection from an end", async () => {
      const bodies: Readable[] = [];
      for (let index = 0; index < 20; index++) {
        const asked = transport.request(watch, abort.signal);
        const seen = await server.next();
        seen.head(200);
        seen.write(`${index}\n`);
        bodies.push((await asked).body);
        if (index === 0) seen.end();
      }
      const [ended, ...open] = bodies.map(eventsOf);
      expect(await ended?.nextEvent()).to.equal("0\n");
      expect(await ended?.nextEvent()).to.equal("end");
      server.relay.cut();
      for (const [index, events] of open.entries()) {
        expect(await events.nextEvent()).to.equal(`${index + 1}\n`);
        expect(await events.nextEvent()).to.equal("CONNECTION_LOST");
      }
    });

    it("gives up a head that does not come in time", async () => {
      const asked = failure(transport.request(watch, abort.signal));
      await server.next();
      clock.advance(30_000);
      expect(await asked).to.include({ code: "TIMEOUT" });
    });

    it("ends with ABORTED before, during and after the head", async () => {
      const waiting = failure(transport.request(call, abort.signal));
      await server.next();
      const asked = transport.request(watch, abort.signal);
      (await server.next()).head(200);
      const events = eventsOf((await asked).body);
      abort.abort();
      expect(await waiting).to.include({ code: "ABORTED" });
      expect(await events.nextEvent()).to.equal("ABORTED");
      expect(await failure(transport.request(call, abort.signal))).to.include({ code: "ABORTED" });
    });

    it("closes everything with ABORTED", async () => {
      const asked = transport.request(watch, abort.signal);
      (await server.next()).head(200);
      const events = eventsOf((await asked).body);
      const waiting = failure(transport.request(call, abort.signal));
      await server.next();
      await transport.close();
      expect(await waiting).to.include({ code: "ABORTED" });
      expect(await events.nextEvent()).to.equal("ABORTED");
    });
  });
}

describe("Http2Transport over https to HTTP/1.1", () => {
  it("uses a rotated CA for new connections, and leaves open ones alone", async () => {
    const server = await new ScriptedServer().start({ kind: "https" });
    const directory = new TempDirectory();
    directory.replace("ca.crt", tlsFixture("ca1.crt"));
    const tls = clusterTlsFiles({ caFile: directory.file("ca.crt") });
    const transport = new Http2Transport({ ...clusterOf(server), tls });
    const { signal } = new AbortController();
    try {
      const asked = transport.request(watch, signal);
      const seen = await server.next();
      seen.head(200);
      const events = eventsOf((await asked).body);
      directory.replace("ca.crt", tlsFixture("ca2.crt"));
      server.answer = answerAll;
      const error = await failure(transport.request(call, signal));
      expect(error).to.include({ code: "CONNECTION_LOST" });
      expect((error as KubeError).message).to.include("certificate authority");
      seen.write("still there\n");
      expect(await events.nextEvent()).to.equal("still there\n");
    } finally {
      await transport.close();
      await server.stop();
      directory.remove();
    }
  });
});
