import { expect } from "chai";
import { FaultyApiServer, type FaultyApiServerOptions } from "./faulty-api-server.js";
import { flagsOf, flagsPath, RawApiClient } from "./raw-api-client.js";

const watchList = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

describe("FaultyApiServer as an API server", () => {
  let api: FaultyApiServer;
  let clients: RawApiClient[];

  const start = async (options: FaultyApiServerOptions = {}): Promise<void> => {
    api = await FaultyApiServer.start(options);
  };
  const connect = (headers?: Record<string, string>): RawApiClient => {
    const client = new RawApiClient(api.url, headers);
    clients.push(client);
    return client;
  };
  const listed = async (query: string): Promise<ListBody> => {
    const { body } = await connect().get(`${flagsPath}?${query}`);
    return JSON.parse(body) as ListBody;
  };

  beforeEach(() => (clients = []));
  afterEach(async () => {
    for (const client of clients) client.close();
    await api.close();
    expect(api.connections).to.equal(0);
  });

  it("keeps the uid of an object, counts generation by specs, and gives one created again a new uid", async () => {
    await start();
    const created = api.put("a", "x", { flagSpec: { flags: {} } }).metadata;
    const annotated = api.put("a", "x", { flagSpec: { flags: {} } }, { annotations: { k: "v" } }).metadata;
    const same = api.put("a", "x", { flagSpec: { flags: {} } }, { annotations: { k: "v" } }).metadata;
    const edited = api.put("a", "x", { flagSpec: {} }, { annotations: { k: "v" } }).metadata;
    const deleted = api.delete("a", "x")?.metadata;
    const again = api.put("a", "x", { flagSpec: {} }).metadata;
    expect([created, annotated, same, edited, deleted, again].map((meta) => meta?.resourceVersion)).to.eql([
      "2",
      "3",
      "3",
      "4",
      "5",
      "6",
    ]);
    expect([created, annotated, edited, again].map((meta) => meta.generation)).to.eql([1, 1, 2, 1]);
    expect(edited.uid).to.equal(created.uid);
    expect(again.uid).not.to.equal(created.uid);
  });

  it("lists in pages that all have the state of the first, whatever is written meanwhile", async () => {
    await start();
    for (const name of ["c", "a", "b"]) api.put("ns", name, {});
    const first = await listed("limit=2");
    api.delete("ns", "c");
    api.put("ns", "a", { flagSpec: 2 });
    const second = await listed(`limit=2&continue=${first.metadata.continue}`);
    expect(names(first)).to.eql(["a", "b"]);
    expect(names(second)).to.eql(["c"]);
    expect(first.metadata.resourceVersion).to.equal("4");
    expect(second.metadata).to.include({ resourceVersion: "4", continue: "" });
    expect(names(await listed("resourceVersion=0&limit=1"))).to.eql(["a", "b"]);
    api.compact();
    const expired = await connect().get(`${flagsPath}?continue=${first.metadata.continue}`);
    expect(expired.status).to.equal(410);
    expect(JSON.parse(expired.body)).to.include({ reason: "Expired", code: 410 });
  });

  it("lists by namespace and by name", async () => {
    await start();
    for (const namespace of ["a", "b"]) for (const name of ["x", "y"]) api.put(namespace, name, {});
    const { body } = await connect().get(`${flagsOf("b")}?fieldSelector=metadata.name%3Dx`);
    const list = JSON.parse(body) as ListBody;
    expect(list.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).to.eql(["b/x"]);
    expect((await connect().get(`${flagsPath}?fieldSelector=spec.x%3D1`)).status).to.equal(400);
  });

  it("refuses a resourceVersion that is not reached, after waiting a moment for it", async () => {
    await start({ freshWaitMs: 40 });
    const refused = await connect().get(`${flagsPath}?resourceVersion=9`);
    expect(refused.status).to.equal(504);
    expect(refused.headers["retry-after"]).to.equal("1");
    expect(JSON.parse(refused.body)).to.deep.include({
      reason: "Timeout",
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    });
    const error = await connect().request(`${flagsPath}?${watchList}&resourceVersion=9`).next();
    expect(error).to.have.nested.property("object.code", 504);
    api.fault({}, () => (api.advance(10), "serve"));
    expect((await connect().get(`${flagsPath}?resourceVersion=9`)).status).to.equal(200);
  });

  it("replays history to a watch that resumes, then continues", async () => {
    await start();
    api.put("a", "x", { flagSpec: 1 });
    api.put("a", "y", {});
    api.put("a", "x", { flagSpec: 2 });
    api.delete("a", "x");
    const wide = connect().request(`${flagsPath}?watch=1&resourceVersion=2`);
    expect(await wide.nextInShort()).to.equal("ADDED y@3");
    expect(await wide.nextInShort()).to.equal("MODIFIED x@4");
    expect(await wide.nextInShort()).to.equal("DELETED x@5");
    const narrow = connect().request(
      `${flagsOf("a")}?watch=1&resourceVersion=2&fieldSelector=metadata.name%3Dx`,
    );
    expect(await narrow.nextInShort()).to.equal("MODIFIED x@4");
    expect(await narrow.nextInShort()).to.equal("DELETED x@5");
    api.put("a", "x", { flagSpec: 3 });
    api.put("b", "x", {});
    expect(await narrow.nextInShort()).to.equal("ADDED x@6");
    expect(await wide.nextInShort()).to.equal("ADDED x@6");
    expect(await wide.nextInShort()).to.equal("ADDED x@7");
    expect(narrow.events.size).to.equal(0);
    expect(api.openWatches().map(({ scope }) => scope)).to.eql(["*/*", "a/x"]);
  });

  it("begins a watch without a resourceVersion, or from 0, with the state and no bookmark", async () => {
    await start();
    api.put("a", "y", {});
    api.put("a", "x", {});
    for (const from of ["", "&resourceVersion=0"]) {
      const watch = connect().request(`${flagsPath}?watch=1&allowWatchBookmarks=true${from}`);
      expect(await watch.nextInShort()).to.equal("ADDED x@3");
      expect(await watch.nextInShort()).to.equal("ADDED y@2");
      expect(watch.events.size).to.equal(0);
    }
    api.put("a", "x", { flagSpec: 1 });
  });

  it("streams the state, the bookmark at its end, and later events to a WatchList", async () => {
    await start();
    api.put("a", "y", {});
    api.put("a", "x", {});
    api.advance(5);
    const watch = connect().request(`${flagsPath}?${watchList}`);
    expect(await watch.nextInShort()).to.equal("ADDED x@3");
    expect(await watch.nextInShort()).to.equal("ADDED y@2");
    const end = await watch.next();
    expect(end.type).to.equal("BOOKMARK");
    expect(end.object.metadata).to.eql({
      annotations: { "k8s.io/initial-events-end": "true" },
      resourceVersion: "8",
    });
    api.delete("a", "y");
    api.bookmark();
    expect(await watch.nextInShort()).to.equal("DELETED y@9");
    const bookmark = await watch.next();
    expect(bookmark.object.metadata).to.eql({ resourceVersion: "9" });
    expect(api.count("watchlist")).to.equal(1);
  });

  it("writes objects with sorted keys and all the fields of real ones", async () => {
    await start();
    api.put("a", "x", { flagSpec: { flags: { z: { variants: { on: "grün <&>" } }, b: {} } } });
    const watch = connect().request(`${flagsPath}?watch=1`);
    await watch.next();
    expect(watch.text).to.match(
      /^\{"type":"ADDED","object":\{"apiVersion":"core.openfeature.dev\/v1beta1","kind":"FeatureFlag","metadata":\{"creationTimestamp":"[-\dT:]+Z","generation":1,"managedFields":\[.*\],"name":"x","namespace":"a","resourceVersion":"2","uid":"[-\da-f]{36}"\},"spec":\{"flagSpec":\{"flags":\{"b":\{\},"z":\{"variants":\{"on":"grün \\u003c\\u0026\\u003e"\}\}\}\}\}\}\}\n$/,
    );
  });

  it("ends a watch cleanly after its timeoutSeconds", async () => {
    await start();
    const watch = connect().request(`${flagsPath}?watch=1&timeoutSeconds=1`);
    await watch.closed;
    expect(watch.endedCleanly).to.be.true;
    expect(api.watches()).to.eql([]);
  });

  it("answers 410 to a watch from before the compaction, in the stream or by the status", async () => {
    await start();
    api.put("a", "x", {});
    api.put("a", "x", { flagSpec: 1 });
    api.compact();
    const inStream = connect().request(`${flagsPath}?watch=1&resourceVersion=2`);
    expect(await inStream.status).to.equal(200);
    expect((await inStream.next()).object).to.include({ code: 410, reason: "Expired" });
    await inStream.closed;
    expect(inStream.endedCleanly).to.be.true;
    api.setExpiredAs("http");
    expect((await connect().get(`${flagsPath}?watch=1&resourceVersion=2`)).status).to.equal(410);
    const atTheEdge = connect().request(`${flagsPath}?watch=1&resourceVersion=3`);
    expect(await atTheEdge.status).to.equal(200);
  });

  it("refuses WatchList in both ways seen", async () => {
    await start();
    api.setWatchList("invalid");
    const refused = await connect().get(`${flagsPath}?${watchList}`);
    expect(refused.status).to.equal(422);
    expect(JSON.parse(refused.body)).to.include({ kind: "Status", reason: "Invalid" });
    api.setWatchList("storage-error");
    const watch = connect().request(`${flagsPath}?${watchList}`);
    expect((await watch.next()).object).to.include({ kind: "Status", code: 500 });
    expect(await connect().request(`${flagsPath}?watch=1`).status).to.equal(200);
  });

  it("gives a watch resumed on a wiped etcd 200 and silence, while LIST and WatchList report why", async () => {
    await start({ freshWaitMs: 10 });
    for (let edit = 0; edit < 5; edit++) api.put("a", "x", { flagSpec: edit });
    const backup = api.backup();
    api.put("a", "x", { flagSpec: "lost" });
    api.put("a", "new", {});
    const wiped = connect().request(`${flagsPath}?watch=1&resourceVersion=8`);
    await wiped.status;
    api.restoreEtcd(backup);
    await wiped.closed;
    expect(wiped.endedCleanly).to.be.false;
    expect(api.revision).to.equal(6);
    const silent = connect().request(`${flagsPath}?watch=1&resourceVersion=8&allowWatchBookmarks=true`);
    expect(await silent.status).to.equal(200);
    api.put("a", "x", { flagSpec: "again" });
    api.bookmark();
    expect((await connect().get(`${flagsPath}?resourceVersion=8`)).status).to.equal(504);
    const relist = connect().request(`${flagsPath}?${watchList}`);
    expect(await relist.nextInShort()).to.equal("ADDED x@7");
    expect(silent.chunks).to.eql([]);
    api.restoreEtcd(undefined);
    expect(api.objects()).to.eql([]);
  });

  it("deletes every object with the CRD, ends the streams, and answers plain 404 until it is back", async () => {
    await start();
    api.put("a", "x", {});
    api.put("a", "y", {});
    const watch = connect().request(`${flagsPath}?watch=1&resourceVersion=3`);
    await watch.status;
    await api.deleteCrd();
    expect(await watch.nextInShort()).to.equal("DELETED x@4");
    expect(await watch.nextInShort()).to.equal("DELETED y@5");
    await watch.closed;
    expect(watch.endedCleanly).to.be.true;
    const gone = await connect().get(flagsPath);
    expect(gone).to.include({ status: 404, body: "404 page not found\n" });
    expect(gone.headers["content-type"]).to.equal("text/plain; charset=utf-8");
    api.createCrd();
    expect((await listed("")).items).to.eql([]);
  });

  it("ends all watches when the CRD changes, and throttles those that open again", async () => {
    await start();
    const watch = connect().request(`${flagsPath}?watch=1`);
    await watch.status;
    api.updateCrd({ throttled: 2, retryAfterS: 3 });
    await watch.closed;
    expect(watch.endedCleanly).to.be.true;
    const answers = [];
    for (let again = 0; again < 3; again++) answers.push(await connect().get(flagsPath));
    expect(answers.map((answer) => answer.status)).to.eql([429, 429, 200]);
    expect(answers[0]?.headers["retry-after"]).to.equal("3");
  });

  it("refuses what RBAC does not allow, by name too, while open watches continue", async () => {
    await start();
    const watch = connect().request(`${flagsPath}?watch=1`);
    await watch.status;
    api.setAllowed(({ verb, name }) => verb === "list" && name === "x");
    api.put("a", "x", {});
    expect(await watch.nextInShort()).to.equal("ADDED x@2");
    const refused = await connect().get(`${flagsOf("a")}?watch=1`);
    expect(refused.status).to.equal(403);
    expect(JSON.parse(refused.body)).to.include({ reason: "Forbidden", code: 403 });
    expect((await connect().get(`${flagsOf("a")}?fieldSelector=metadata.name%3Dx`)).status).to.equal(200);
    const allowed = await review(connect(), { verb: "list", name: "x", namespace: "" });
    expect(allowed).to.deep.include({ status: { allowed: true, reason: "RBAC: allowed by the test" } });
    api.setReviewAnswer(() => false);
    expect(await review(connect(), { verb: "list", name: "x" })).to.deep.include({
      status: { allowed: false },
    });
  });

  it("answers 401 to a token it does not know and ends that session for new requests only", async () => {
    await start();
    api.setTokens(["old"]);
    const client = connect({ authorization: "Bearer old" });
    const watch = client.request(`${flagsPath}?watch=1`);
    expect(await watch.status).to.equal(200);
    api.setTokens(["new"]);
    const refused = await client.get(flagsPath);
    expect(refused.status).to.equal(401);
    expect(JSON.parse(refused.body)).to.include({ reason: "Unauthorized", code: 401 });
    expect(client.goAways).to.eql([0]);
    expect(() => client.request(flagsPath)).to.throw();
    api.put("a", "x", {});
    expect(await watch.nextInShort()).to.equal("ADDED x@2");
    expect((await connect({ authorization: "Bearer new" }).get(flagsPath)).status).to.equal(200);
    const anonymous = connect();
    expect((await anonymous.get(flagsPath)).status).to.equal(403);
    expect(anonymous.goAways).to.eql([0]);
  });

  it("comes back from a restart on the same port, not ready at first, its history gone", async () => {
    await start();
    api.put("a", "x", {});
    api.put("a", "x", { flagSpec: 1 });
    const watch = connect().request(`${flagsPath}?watch=1`);
    await watch.next();
    await api.restart({ requests: 1, status: 429, retryAfterS: 2 });
    await watch.closed;
    expect(watch.endedCleanly).to.be.false;
    const throttled = await connect().get(`${flagsPath}?watch=1&resourceVersion=2`);
    expect(throttled.status).to.equal(429);
    expect(throttled.headers["retry-after"]).to.equal("2");
    const expired = connect().request(`${flagsPath}?watch=1&resourceVersion=2`);
    expect((await expired.next()).object.code).to.equal(410);
    for (const status of [403, 500, 503] as const) {
      await api.restart({ requests: 1, status });
      expect((await connect().get(flagsPath)).status).to.equal(status);
      expect((await connect().get(flagsPath)).status).to.equal(200);
    }
  });

  it("refuses connections while it is stopped", async () => {
    await start();
    await api.stop();
    const client = connect();
    const error = await new Promise<NodeJS.ErrnoException>((resolve) =>
      client.session.once("error", resolve),
    );
    expect(error.code).to.equal("ECONNREFUSED");
    await api.resume();
    expect((await connect().get(flagsPath)).status).to.equal(200);
  });

  it("announces the streams a session may have", async () => {
    await start({ maxConcurrentStreams: 7 });
    const client = connect();
    await client.get(flagsPath);
    expect(client.session.remoteSettings.maxConcurrentStreams).to.equal(7);
  });

  it("logs the requests and how many watches waited at once", async () => {
    await start();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    api.fault({ kind: "watch" }, async () => released.then(() => "serve" as const), 3);
    const client = connect();
    const watches = ["x", "y", "z"].map((name) =>
      client.request(`${flagsOf("a")}?watch=1&fieldSelector=metadata.name%3D${name}`),
    );
    await client.get(flagsPath);
    expect(api.requests.map(({ name, status }) => `${name ?? "-"} ${status ?? "-"}`)).to.eql([
      "x -",
      "y -",
      "z -",
      "- 200",
    ]);
    release();
    await Promise.all(watches.map(async (watch) => watch.status));
    expect(api).to.include({ maxConcurrentOpenings: 3, watchesOpened: 3 });
    expect(api.count("watch")).to.equal(3);
  });
});

interface ListBody {
  readonly metadata: { readonly resourceVersion: string; readonly continue: string };
  readonly items: { readonly metadata: { readonly name: string; readonly namespace: string } }[];
}

function names(list: ListBody): string[] {
  return list.items.map(({ metadata }) => metadata.name);
}

async function review(client: RawApiClient, attributes: Record<string, string>): Promise<unknown> {
  const answer = client.request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    method: "POST",
    body: JSON.stringify({ spec: { resourceAttributes: { group: "core.openfeature.dev", ...attributes } } }),
  });
  await answer.closed;
  expect(await answer.status).to.equal(201);
  return JSON.parse(answer.text);
}
