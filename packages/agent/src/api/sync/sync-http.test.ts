import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { connect as http2Connect, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { once } from "node:events";
import { eventually } from "@bunting/test/support/event-queue.js";
import {
  afterwards,
  createWorld,
  listen,
  post,
  releaseAfterEach,
  type HttpAnswer,
  type World,
} from "../api.fixture.js";
import { createCors } from "../http/cors.js";
import { syncHttp } from "./sync-http.js";
import { SyncService } from "./sync-service.js";

const flag = (variant: string): JsonObject => ({
  state: "ENABLED",
  variants: { on: true, off: false },
  defaultVariant: variant,
});
const one: JsonObject = { flags: { first: flag("on") } };
const two: JsonObject = { flags: { second: flag("on") }, metadata: { flagSetId: "a/b ü" } };

interface Served {
  readonly world: World;
  readonly service: SyncService;
  readonly port: number;
  readonly get: (
    path?: string,
    headers?: Readonly<Record<string, string>>,
    method?: string,
  ) => Promise<HttpAnswer>;
}

async function serve(isHeld = false, documents = [one, two], unreadSources: number[] = []): Promise<Served> {
  const world = createWorld({ documents, unread: unreadSources });
  const { store, unread, selections, metrics, clock } = world;
  const service = new SyncService({
    flags: { reader: store, unread, selections },
    metrics,
    clock,
    metadata: { contextValues: {}, isDisabled: false },
    streamDeadlineMs: 0,
  });
  store.onChange(({ changes }) => service.publish(changes));
  if (!isHeld) service.release();
  const { listener, component } = syncHttp({
    sync: service,
    selections,
    cors: createCors([]),
    metrics,
    clock,
  });
  await component.start(() => undefined, new AbortController().signal);
  const { port } = await listen(service.methods(), listener);
  return {
    world,
    service,
    port,
    get: (path = "/v1/flags", headers = {}, method = "GET") => post(port, path, "", headers, method),
  };
}

const keysOf = ({ text }: HttpAnswer): string[] =>
  Object.keys((JSON.parse(text) as { readonly flags: JsonObject }).flags);

describe("GET /v1/flags on the sync port", () => {
  releaseAfterEach();

  it("answers with the document of FetchAllFlags, and counts the request without its selector", async () => {
    const { world, get } = await serve();
    const all = await get();
    expect(all.status).to.equal(200);
    expect(all.headers.get("content-type")).to.equal("application/json");
    expect(all.headers.get("vary")).to.equal("Origin, Flagd-Selector");
    expect(all.text).to.equal(
      '{"flags":{"first":{"defaultVariant":"on","source":"source-0","state":"ENABLED","variants":{"off":false,"on":true}},' +
        '"second":{"defaultVariant":"on","metadata":{"flagSetId":"a/b ü"},"source":"source-1","state":"ENABLED","variants":{"off":false,"on":true}}}}',
    );
    await get("/v1/flags/source-0");
    await eventually(
      () => world.metrics.calls.filter(([name]) => name === "httpRequest").length === 2,
      "both requests are counted",
    );
    const routes = world.metrics.calls.filter(([name]) => name === "httpRequest").map(([, , route]) => route);
    expect(routes).to.deep.equal(["/v1/flags", "/v1/flags/{selector}"]);
  });

  it("takes the selector from the header, the path or the query, in this order", async () => {
    const { get } = await serve();
    const set = encodeURIComponent("flagSetId=a/b ü");
    const header = { "flagd-selector": Buffer.from("flagSetId=a/b ü").toString("latin1") };
    for (const [path, headers, keys] of [
      [`/v1/flags/${set}`, {}, ["second"]],
      [`/v1/flags?selector=${set}`, {}, ["second"]],
      ["/v1/flags?selector=flagSetId=a/b+%C3%BC", {}, ["second"]],
      ["/v1/flags?a=b&selector=source%3Dsource-0", {}, ["first"]],
      [`/v1/flags/source-0?selector=${set}`, {}, ["first"]],
      [`/v1/flags/source-0?selector=source-0`, header, ["second"]],
      ["/v1/flags/source-0", { "flagd-selector": "" }, ["first"]],
      ["/v1/flags?selector=flagSetId%3Dnone", {}, []],
    ] as const) {
      const answer = await get(path, headers);
      expect([answer.status, keysOf(answer)], path).to.deep.equal([200, keys]);
    }
  });

  it("refuses selectors, methods and paths, and never repeats what a client sent", async () => {
    const { get } = await serve();
    for (const [path, headers, method, status] of [
      ["/v1/flags/a%01b", {}, "GET", 400],
      ["/v1/flags/a%ffb", {}, "GET", 400],
      ["/v1/flags/%", {}, "GET", 400],
      ["/v1/flags?selector=%", {}, "GET", 400],
      ["/v1/flags", { "flagd-selector": "a\xffb" }, "GET", 400],
      ["/v1/flags?selector=bogus%3D1", {}, "GET", 404],
      ["/v1/flags", { "flagd-selector": "bogus=1" }, "GET", 404],
      ["/v1/flags", {}, "POST", 405],
      ["/v1/flags/", {}, "GET", 404],
      ["/v1/flags/a/b", {}, "GET", 404],
      ["/elsewhere", {}, "GET", 404],
    ] as const) {
      const answer = await get(path, headers, method);
      expect(answer.status, `${method} ${path}`).to.equal(status);
      expect(answer.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
      expect(answer.text).to.not.match(/bogus|elsewhere/);
      expect(answer.headers.get("allow")).to.equal(status === 405 ? "GET, HEAD" : null);
    }
  });

  it("answers 304 to those who have the flags, by ETag or else by time", async () => {
    const { world, get } = await serve();
    world.put({ flags: { first: flag("off") } });
    const fresh = await get();
    const etag = fresh.headers.get("etag") ?? "";
    expect(etag).to.match(/^"[0-9a-f]{64}"$/);
    expect(fresh.headers.get("last-modified"), "within the second of the change").to.equal(null);
    world.clock.advance(1_000);
    const later = await get();
    const modified = later.headers.get("last-modified") ?? "";
    expect(Date.parse(modified)).to.be.greaterThan(0);
    expect(later.headers.get("etag")).to.equal(etag);
    const before = new Date(Date.parse(modified) - 1_000).toUTCString();
    for (const [headers, status] of [
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `"x", W/${etag}` }, 304],
      [{ "if-none-match": "*" }, 304],
      [{ "if-none-match": '"x"' }, 200],
      [{ "if-modified-since": modified }, 304],
      [{ "if-modified-since": before }, 200],
      [{ "if-modified-since": "yesterday" }, 200],
      [{ "if-none-match": etag, "if-modified-since": before }, 304],
      [{ "if-none-match": '"x"', "if-modified-since": modified }, 200],
    ] as const) {
      const answer = await get("/v1/flags", headers);
      expect(answer.status, JSON.stringify(headers)).to.equal(status);
      expect(answer.headers.get("etag")).to.equal(etag);
      if (status === 304) expect(answer.text).to.equal("");
    }
    world.put(one);
    const changed = await get("/v1/flags", { "if-none-match": etag, "if-modified-since": modified });
    expect(changed.status).to.equal(200);
    expect(changed.headers.get("etag")).to.not.equal(etag);
  });

  it("answers those who ask by time with flags that change after the clock was set back", async () => {
    const { world, get } = await serve();
    world.put({ flags: { first: flag("off") } });
    world.clock.advance(2_000);
    const modified = (await get()).headers.get("last-modified") ?? "";
    const { clock } = world;
    const now = clock.now.bind(clock);
    clock.now = () => now() - 3_600_000;
    world.put({ flags: { first: flag("on") } });
    world.clock.advance(2_000);
    expect((await get("/v1/flags", { "if-modified-since": modified })).status).to.equal(200);
  });

  it("answers HEAD without a body, and browsers of other origins", async () => {
    const { get } = await serve();
    const whole = await get();
    const head = await get("/v1/flags", { origin: "https://a.example" }, "HEAD");
    expect([head.status, head.text]).to.deep.equal([200, ""]);
    expect(head.headers.get("content-length")).to.equal(String(Buffer.byteLength(whole.text)));
    expect(head.headers.get("access-control-allow-origin")).to.equal("*");
  });

  it("waits for the first flags of all sources, and answers 503 if the agent stops before", async () => {
    const { service, get, world } = await serve(true);
    const held = get();
    await eventually(
      () => world.metrics.calls.some(([name]) => name === "httpActiveRequests"),
      "the request has come",
    );
    service.release();
    expect(keysOf(await held)).to.deep.equal(["first", "second"]);
    service.shutdown();
    expect((await get()).status).to.equal(503);
  });

  it("is served over HTTP/2 too, beside gRPC", async () => {
    const { port } = await serve();
    const session = http2Connect(`http://127.0.0.1:${port}`);
    afterwards(() => session.destroy());
    const stream = session.request({ ":path": "/v1/flags/source-1" });
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    expect(headers[":status"]).to.equal(200);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).to.match(/^\{"flags":\{"second":/);
  });

  it("answers 503 instead of an empty document that a source which has not answered could fill", async () => {
    const { get } = await serve(false, [one, { flags: {} }], [1]);
    expect(keysOf(await get())).to.deep.equal(["first"]);
    const { status, text } = await get("/v1/flags/source-1");
    expect([status, text]).to.deep.equal([503, "a source that may have the flag has not answered yet\n"]);
  });

  it("frees what a client held that went away while it waited", async () => {
    const { world, service, port } = await serve(true);
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /v1/flags HTTP/1.1\r\nhost: a\r\n\r\n");
    const active = (): number =>
      world.metrics.calls
        .filter(([name]) => name === "httpActiveRequests")
        .reduce((sum, [, , , change]) => sum + Number(change), 0);
    await eventually(() => active() === 1, "the request has come");
    socket.destroy();
    await eventually(() => active() === 0, "the request is over");
    service.release();
  });
});
