import { expect } from "chai";
import { constants } from "node:http2";
import { get } from "node:https";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { eventually } from "../event-queue.js";
import { faults } from "./fault-script.js";
import { FaultyApiServer } from "./faulty-api-server.js";
import { flagsOf, flagsPath, RawApiClient, sessionClosed } from "./raw-api-client.js";
import { internalError, watchExpired } from "./status.js";
import { testTls } from "./test-tls.js";

describe("Faults of FaultyApiServer", () => {
  let api: FaultyApiServer;
  let client: RawApiClient;

  beforeEach(async () => {
    api = await FaultyApiServer.start();
    client = new RawApiClient(api.url);
    api.put("a", "x", { flagSpec: "grün €" });
  });
  afterEach(async () => {
    client.close();
    await api.close();
    expect(api.connections).to.equal(0);
    expect(api.watches()).to.eql([]);
  });

  it("strike the next requests that match, as often as armed, in the order they were armed", async () => {
    const armed = api.fault(
      { kind: "list", namespace: "a" },
      faults.answer(503, "no\n", { "x-why": "test" }),
      2,
    );
    api.fault({ kind: "list", namespace: "a" }, faults.answer(500, internalError("etcd")));
    const statuses = [];
    for (let turn = 0; turn < 4; turn++) statuses.push((await client.get(flagsOf("a"))).status);
    expect(statuses).to.eql([503, 503, 500, 200]);
    expect(armed.struck).to.equal(2);
    api.fault({ namespace: null }, faults.answer(503, "no\n"), Infinity);
    expect((await client.get(flagsOf("a"))).status).to.equal(200);
    expect((await client.get(flagsPath)).status).to.equal(503);
    api.clearFaults();
    expect((await client.get(flagsPath)).status).to.equal(200);
  });

  it("hang: no head comes, until the client gives up", async () => {
    api.fault({}, faults.hang());
    const hung = client.request(flagsPath);
    expect((await client.get(flagsPath)).status).to.equal(200);
    expect(hung.headers).to.eql({});
    hung.stream.close(constants.NGHTTP2_CANCEL);
    await hung.closed;
  });

  it("reset: RST_STREAM with the code, the session lives", async () => {
    api.fault({}, faults.reset(constants.NGHTTP2_REFUSED_STREAM));
    const refused = client.request(flagsPath);
    await refused.closed;
    expect(refused.stream.rstCode).to.equal(constants.NGHTTP2_REFUSED_STREAM);
    expect((await client.get(flagsPath)).status).to.equal(200);
  });

  it("goAway: the request is answered, the next needs a new session", async () => {
    api.fault({}, faults.goAway());
    expect((await client.get(flagsPath)).status).to.equal(200);
    expect(client.goAways).to.eql([0]);
    expect(() => client.request(flagsPath)).to.throw();
  });

  it("goAway with an error code: the session ends with its streams", async () => {
    const watch = client.request(`${flagsPath}?watch=1`);
    await watch.next();
    api.watches()[0]?.goAway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await watch.closed;
    expect(client.goAways).to.eql([constants.NGHTTP2_ENHANCE_YOUR_CALM]);
    expect(watch.endedCleanly).to.be.false;
  });

  it("delayed and heldUntil: answered, but after what came later", async () => {
    let release = (): void => undefined;
    const order: string[] = [];
    api.fault({ namespace: "held" }, faults.heldUntil(new Promise((resolve) => (release = resolve))));
    api.fault({ namespace: "late" }, faults.delayed(30));
    const asked = ["held", "late", "now"].map(async (namespace) => {
      await client.get(flagsOf(namespace));
      order.push(namespace);
      if (namespace === "late") release();
    });
    await Promise.all(asked);
    expect(order).to.eql(["now", "late", "held"]);
  });

  it("dripped: every byte comes alone, so characters and lines are split, and the whole answer comes", async () => {
    api.fault({}, faults.dripped({ bytesPerWrite: 1, everyMs: 0 }));
    const whole = await client.get(flagsPath);
    const dripped = client.request(flagsPath);
    await dripped.closed;
    expect(JSON.parse(whole.body)).to.have.nested.property("items[0].spec.flagSpec", "grün €");
    api.fault({}, faults.dripped({ bytesPerWrite: 1, everyMs: 0 }));
    const watch = client.request(`${flagsPath}?watch=1`);
    expect((await watch.next()).object.spec).to.eql({ flagSpec: "grün €" });
    expect(watch.chunks.every((chunk) => chunk.length === 1)).to.be.true;
    expect(watch.chunks.some((chunk) => chunk[0] === 0x82)).to.be.true;
  });

  it("cutAfter: the body ends, or is reset, after this many bytes", async () => {
    api.fault({}, faults.cutAfter(40, "end"));
    const ended = client.request(flagsPath);
    await ended.closed;
    expect(Buffer.concat(ended.chunks)).to.have.length(40);
    expect(ended.endedCleanly).to.be.true;
    api.fault({}, faults.cutAfter(40, "reset"));
    const reset = client.request(`${flagsPath}?watch=1`);
    await reset.closed;
    expect(Buffer.concat(reset.chunks)).to.have.length(40);
    expect(reset.stream.rstCode).to.equal(constants.NGHTTP2_INTERNAL_ERROR);
  });

  it("reach an open watch: error, malformed, repeated, duplicated, held, silent, cut in a line, reset", async () => {
    const watch = client.request(`${flagsPath}?watch=1`);
    await watch.next();
    const [open] = api.watches();
    if (open === undefined) throw new Error("no watch is open");
    open.malformed();
    expect((await watch.next()).type).to.equal("UNREADABLE");
    open.repeatLast();
    expect(await watch.nextInShort()).to.equal("ADDED x@2");
    open.duplicateEvents();
    api.put("a", "y", {});
    expect([await watch.nextInShort(), await watch.nextInShort()]).to.eql(["ADDED y@3", "ADDED y@3"]);
    open.error(internalError("etcd"), { keepOpen: true });
    expect((await watch.next()).object).to.include({ kind: "Status", code: 500 });

    open.hold();
    api.delete("a", "y");
    const other = client.request(`${flagsPath}?watch=1&resourceVersion=3`);
    expect(await other.nextInShort()).to.equal("DELETED y@4");
    expect(watch.events.size).to.equal(0);
    open.release();
    expect([await watch.nextInShort(), await watch.nextInShort()]).to.eql(["DELETED y@4", "DELETED y@4"]);

    open.silence();
    api.put("a", "z", {});
    expect(await other.nextInShort()).to.equal("ADDED z@5");
    await client.get(flagsPath);
    expect(watch.events.size).to.equal(0);
    expect(watch.stream.closed).to.be.false;

    const before = other.text.length;
    api.watches()[1]?.endMidLine('{"type":"MOD');
    await other.closed;
    expect(other.text.slice(before)).to.equal('{"type":"MOD');
    expect(other.endedCleanly).to.be.true;
    open.reset(constants.NGHTTP2_CANCEL);
    await watch.closed;
    expect(watch.endedCleanly).to.be.false;
  });

  it("an ERROR event ends the watch, as with the real one", async () => {
    const watch = client.request(`${flagsPath}?watch=1&resourceVersion=2`);
    await watch.status;
    api.watches()[0]?.error(watchExpired(2, 9));
    expect((await watch.next()).object.code).to.equal(410);
    await watch.closed;
    expect(watch.endedCleanly).to.be.true;
  });

  it("onWatch acts before the first event of the next watches that match", async () => {
    api.onWatch({ kind: "watch", namespace: null }, (watch) => watch.hold());
    const wide = client.request(`${flagsPath}?watch=1`);
    const narrow = client.request(`${flagsOf("a")}?watch=1`);
    expect(await narrow.nextInShort()).to.equal("ADDED x@2");
    expect(await wide.status).to.equal(200);
    expect(wide.events.size).to.equal(0);
    for (const watch of api.watches({ namespace: null })) watch.release();
    expect(await wide.nextInShort()).to.equal("ADDED x@2");
  });

  it("cut breaks every connection", async () => {
    const watch = client.request(`${flagsPath}?watch=1`);
    await watch.next();
    api.cut();
    await watch.closed;
    expect(watch.endedCleanly).to.be.false;
    await sessionClosed(client);
  });

  it("goAway lets open streams continue", async () => {
    const watch = client.request(`${flagsPath}?watch=1&resourceVersion=2`);
    await watch.status;
    api.goAway();
    await eventually(() => client.goAways.length === 1, "GOAWAY");
    api.put("a", "y", {});
    expect(await watch.nextInShort()).to.equal("ADDED y@3");
    api.cut();
    await watch.closed;
    // After a GOAWAY node's client shows a broken connection as a clean end (rstCode 0): only the session shows the difference.
    await sessionClosed(client);
    await eventually(() => api.watches().length === 0, "the server to know that the watch is gone");
  });

  it("work over HTTP/1.1 too: an answer, a reset, an end in the middle of a line", async () => {
    const ask = async (path: string): Promise<IncomingMessage> => {
      const request = get(`${api.url}${path}`, { ca: testTls.ca, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return response;
    };
    const listed = await ask(flagsPath);
    expect(listed.httpVersion).to.equal("1.1");
    listed.resume();
    for (const how of ["end", "reset"] as const) {
      api.fault({}, faults.cutAfter(40, how));
      const response = await ask(`${flagsPath}?watch=1`);
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      const error = await new Promise<Error>((resolve) => response.once("error", resolve));
      expect(error).to.have.property("code", "ECONNRESET");
      expect(bytes).to.equal(40);
    }
    expect(api.requests.map(({ protocol }) => protocol)).to.eql(["http/1.1", "http/1.1", "http/1.1"]);
  });
});
