import { expect } from "chai";
import { constants } from "node:http2";
import { eventually } from "./event-queue.js";
import { Http2FaultProxy } from "./fault-proxy-http2.js";
import { faults, FaultyApiServer, internalError, status } from "./faulty-api-server/index.js";
import { flagsOf, flagsPath, RawApiClient, sessionClosed } from "./faulty-api-server/raw-api-client.js";

describe("Http2FaultProxy", () => {
  let api: FaultyApiServer;
  let proxy: Http2FaultProxy;
  let clients: RawApiClient[];

  const connect = (headers?: Record<string, string>): RawApiClient => {
    const client = new RawApiClient(proxy.url, headers);
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    clients = [];
    api = await FaultyApiServer.start();
    api.put("a", "x", { flagSpec: "grün €" });
    proxy = await Http2FaultProxy.start({ upstream: api.url, ca: api.ca });
  });
  afterEach(async () => {
    for (const client of clients) client.close();
    await proxy.close();
    expect(proxy.connections).to.equal(0);
    await eventually(() => api.connections === 0, "the connections upstream to be gone");
    await api.close();
  });

  it("passes requests, headers, answers, bodies and ends as they are", async () => {
    api.setTokens(["t"]);
    const client = connect({ authorization: "Bearer t" });
    const direct = new RawApiClient(api.url, { authorization: "Bearer t" });
    const [through, straight] = [await client.get(flagsPath), await direct.get(flagsPath)];
    direct.close();
    expect(through.body).to.equal(straight.body);
    expect(through.headers["content-type"]).to.equal("application/json");
    const reviewed = client.request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      method: "POST",
      body: JSON.stringify({ spec: { resourceAttributes: { verb: "list" } } }),
    });
    expect(await reviewed.status).to.equal(201);
    const watch = client.request(`${flagsPath}?watch=1&timeoutSeconds=1`);
    expect((await watch.next()).object.spec).to.eql({ flagSpec: "grün €" });
    expect(proxy.watches().map(({ scope }) => scope)).to.eql(["*/*"]);
    await watch.closed;
    expect(watch.endedCleanly).to.be.true;
    expect(proxy.watches()).to.eql([]);
    expect(api.connectionsAccepted).to.equal(2);
  });

  it("passes on what happens upstream: a reset stream, GOAWAY, a broken connection, a refused one", async () => {
    const client = connect();
    const watches = [1, 2].map(() => client.request(`${flagsPath}?watch=1`));
    await Promise.all(watches.map(async (watch) => watch.next()));
    api.watches()[0]?.reset(constants.NGHTTP2_REFUSED_STREAM);
    await watches[0]?.closed;
    expect(watches[0]?.stream.rstCode).to.equal(constants.NGHTTP2_REFUSED_STREAM);
    api.goAway();
    await eventually(() => client.goAways.length === 1, "GOAWAY");
    api.put("a", "y", {});
    expect(await watches[1]?.nextInShort()).to.equal("ADDED y@3");
    const other = connect();
    const watch = other.request(`${flagsPath}?watch=1&resourceVersion=3`);
    await watch.status;
    api.cut();
    await watch.closed;
    expect(watch.endedCleanly).to.be.false;
    await Promise.all([sessionClosed(client), sessionClosed(other)]);
    await api.stop();
    const refused = connect().request(flagsPath);
    await refused.closed;
    expect(refused.endedCleanly).to.be.false;
    await api.resume();
  });

  it("ends the stream upstream when the client goes", async () => {
    const client = connect();
    const watch = client.request(`${flagsPath}?watch=1`);
    await watch.next();
    watch.stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => api.watches().length === 0, "the watch upstream to end");
    expect(api.connections).to.equal(1);
  });

  it("answers in place of the server: 429 with Retry-After, 503", async () => {
    proxy.fault(
      { kind: "list" },
      faults.answer(429, status(429, "TooManyRequests", "wait"), { "retry-after": "2" }),
    );
    proxy.fault({ kind: "list" }, faults.answer(503, "unavailable\n"));
    const client = connect();
    const answers = [await client.get(flagsPath), await client.get(flagsPath), await client.get(flagsPath)];
    expect(answers.map((answer) => answer.status)).to.eql([429, 503, 200]);
    expect(answers[0]?.headers["retry-after"]).to.equal("2");
    expect(api.count("list")).to.equal(1);
  });

  it("sends GOAWAY of its own", async () => {
    const client = connect();
    const watch = client.request(`${flagsPath}?watch=1`);
    await watch.next();
    proxy.goAway();
    await eventually(() => client.goAways.length === 1, "GOAWAY");
    api.put("a", "y", {});
    expect(await watch.nextInShort()).to.equal("ADDED y@3");
  });

  it("puts an ERROR line between two lines, ends in the middle of one, resets a stream", async () => {
    const client = connect();
    const open = async (): Promise<ReturnType<RawApiClient["request"]>> => {
      const watch = client.request(`${flagsPath}?watch=1`);
      await watch.next();
      return watch;
    };
    const failed = await open();
    proxy.watches()[0]?.error(internalError("etcd"));
    expect((await failed.next()).object.code).to.equal(500);
    await failed.closed;
    expect(failed.endedCleanly).to.be.true;

    const cut = await open();
    proxy.watches()[0]?.endMidLine('{"type":');
    await cut.closed;
    expect(cut.endedCleanly).to.be.true;
    expect(cut.text.endsWith('{"type":')).to.be.true;

    const reset = await open();
    proxy.watches()[0]?.reset();
    await reset.closed;
    expect(reset.stream.rstCode).to.equal(constants.NGHTTP2_INTERNAL_ERROR);

    proxy.fault({ kind: "watch" }, faults.cutAfter(30, "end"));
    const short = client.request(`${flagsPath}?watch=1`);
    await short.closed;
    expect(Buffer.concat(short.chunks)).to.have.length(30);
    await eventually(() => api.watches().length === 0, "nothing to be left open upstream");
  });

  it("splits forwarded bytes within characters", async () => {
    proxy.onWatch({}, (watch) => watch.drip({ bytesPerWrite: 1, everyMs: 0 }));
    const watch = connect().request(`${flagsPath}?watch=1`);
    expect((await watch.next()).object.spec).to.eql({ flagSpec: "grün €" });
    expect(watch.chunks.every((chunk) => chunk.length === 1)).to.be.true;
  });

  it("delays or holds the streams of one scope and not those of another", async () => {
    let release = (): void => undefined;
    proxy.onWatch({ namespace: "a", name: null }, (watch) => watch.hold());
    proxy.onWatch({ namespace: null }, (watch) => watch.delay(50));
    proxy.fault({ namespace: "b" }, faults.heldUntil(new Promise((resolve) => (release = resolve))));
    const client = connect();
    const order: string[] = [];
    const watch = (path: string, label: string): void => {
      const answer = client.request(path);
      answer.stream.on("response", () => order.push(`${label} head`));
      answer.stream.once("data", () => order.push(label));
    };
    watch(`${flagsOf("a")}?watch=1`, "held");
    watch(`${flagsPath}?watch=1`, "delayed");
    watch(`${flagsOf("b")}?watch=1`, "unanswered");
    watch(`${flagsOf("a")}?watch=1&fieldSelector=metadata.name%3Dx`, "narrow");
    await eventually(() => order.length === 5, "all but the held ones");
    expect(order.at(-1)).to.equal("delayed");
    expect(order).to.include.members(["narrow", "held head"]);
    for (const held of proxy.watches({ namespace: "a", name: null })) held.release();
    await eventually(() => order.at(-1) === "held", "the held line");
    release();
    await eventually(() => order.at(-1) === "unanswered head", "the held head");
  });

  it("cuts its clients, and refuses them while it is stopped", async () => {
    const client = connect();
    await client.request(`${flagsPath}?watch=1`).next();
    await proxy.stop();
    await sessionClosed(client);
    await eventually(() => api.watches().length === 0, "the watch upstream to end");
    await proxy.resume();
    expect((await connect().get(flagsPath)).status).to.equal(200);
  });
});
