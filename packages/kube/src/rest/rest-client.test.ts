import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { KubeError } from "../kube-error.js";
import { Http2Transport } from "../transport/http2-transport.js";
import type { KubeTransport } from "../transport/kube-transport.js";
import { clusterOf, ScriptedServer, type SeenRequest } from "../transport/transport.fixture.js";
import { RestClient } from "./rest-client.js";

const type = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };
const collection = "/apis/core.openfeature.dev/v1beta1/namespaces/demo/featureflags";
const scope = { type, namespace: "demo", name: "a" };

describe("RestClient", () => {
  let server: ScriptedServer;
  let transport: Http2Transport;
  let clock: ManualClock;
  let client: RestClient;
  let abort: AbortController;

  beforeEach(async () => {
    server = await new ScriptedServer().start();
    clock = new ManualClock();
    transport = new Http2Transport(clusterOf(server));
    client = new RestClient(transport, { clock, maxConcurrentCalls: 2 });
    abort = new AbortController();
  });
  afterEach(async () => {
    await transport.close();
    await server.stop();
    expect(clock.pendingTimers, "timers left").to.equal(0);
  });

  /** Starts a call, and answers it. */
  async function answered<T>(call: Promise<T>, answer: unknown, status = 200): Promise<[T, SeenRequest]> {
    const seen = await server.next();
    seen.head(status, { "content-type": "application/json" });
    seen.end(JSON.stringify(answer));
    return [await call, seen];
  }

  async function refused(
    call: Promise<unknown>,
    status: number,
    body: string,
    headers = {},
  ): Promise<KubeError> {
    const failed = call.catch((error: unknown) => error);
    const seen = await server.next();
    seen.head(status, headers);
    seen.end(body);
    const error = await failed;
    expect(error).to.be.instanceOf(KubeError);
    return error as KubeError;
  }

  it("says with a 401 what to do about the credentials, with a 403 whose they are, and nothing of them with others", async () => {
    client = new RestClient(transport, {
      clock,
      refusedAdvice: { UNAUTHORIZED: "renew the token", FORBIDDEN: "the credentials are those of the Pod" },
    });
    const call = (): Promise<unknown> => client.list(scope, {}, abort.signal);
    const status = JSON.stringify({
      kind: "Status",
      code: 401,
      reason: "Unauthorized",
      message: "Unauthorized",
    });
    expect(await refused(call(), 401, status)).to.include({
      code: "UNAUTHORIZED",
      status: 401,
      message: "the API server answered 401 Unauthorized: Unauthorized; renew the token",
    });
    const forbidden = await refused(call(), 403, "no");
    expect(forbidden.message).to.not.contain("renew");
    expect(forbidden.message).to.match(/; the credentials are those of the Pod$/);
    expect((await refused(call(), 404, "no")).message).to.not.match(/renew|credentials/);
  });

  it("lists a page, with the name as field selector", async () => {
    const answer = {
      metadata: { resourceVersion: "12", continue: "more" },
      items: [{ metadata: { name: "a" } }],
    };
    const [list, seen] = await answered(
      client.list(scope, { limit: 500, resourceVersion: "0" }, abort.signal),
      answer,
    );
    expect(list).to.deep.equal({
      resourceVersion: "12",
      continueToken: "more",
      items: [{ metadata: { name: "a" } }],
    });
    expect(seen.path).to.equal(`${collection}?limit=500&resourceVersion=0&fieldSelector=metadata.name%3Da`);
  });

  it("takes a list without items (Go's null) and the end of the pages", async () => {
    const [list] = await answered(client.list({ type }, {}, abort.signal), {
      metadata: { resourceVersion: "1", continue: "" },
      items: null,
    });
    expect(list).to.deep.equal({ resourceVersion: "1", continueToken: undefined, items: [] });
  });

  for (const [what, answer] of [
    ["no list", { kind: "FeatureFlag" }],
    ["a list without a version", { items: [] }],
  ] as const) {
    it(`fails with PROTOCOL for ${what}`, async () => {
      const error = await refused(client.list({ type }, {}, abort.signal), 200, JSON.stringify(answer));
      expect(error.code).to.equal("PROTOCOL");
    });
  }

  it("fails with PROTOCOL for an answer that is not JSON", async () => {
    const error = await refused(client.get(scope, abort.signal), 200, "<html>log in</html>");
    expect(error).to.include({ code: "PROTOCOL" });
  });

  it("opens a watch, and returns its body once there is a 200", async () => {
    const asked = client.watch(scope, { resourceVersion: "12", allowWatchBookmarks: true }, abort.signal);
    const seen = await server.next();
    expect(seen.path).to.equal(
      `${collection}?resourceVersion=12&allowWatchBookmarks=true&watch=true&fieldSelector=metadata.name%3Da`,
    );
    seen.head(200);
    seen.write('{"type":"ADDED"}\n');
    const body = await asked;
    const [chunk] = (await body.take(1).toArray()) as Buffer[];
    expect(chunk?.toString()).to.equal('{"type":"ADDED"}\n');
  });

  it("rejects for a watch that is refused, whatever its body", async () => {
    const status = {
      kind: "Status",
      code: 429,
      reason: "TooManyRequests",
      message: "later",
      details: { retryAfterSeconds: 2 },
    };
    const throttled = await refused(client.watch(scope, {}, abort.signal), 429, JSON.stringify(status), {
      "retry-after": "1",
    });
    expect(throttled).to.include({ code: "THROTTLED", retryAfterMs: 2_000, reason: "TooManyRequests" });
    const gone = await refused(client.watch(scope, {}, abort.signal), 404, "404 page not found");
    expect(gone).to.include({ code: "NOT_FOUND", status: 404 });
    const empty = await refused(client.watch(scope, {}, abort.signal), 503, "");
    expect(empty.code).to.equal("SERVER_ERROR");
    const noStatus = await refused(client.watch(scope, {}, abort.signal), 204, "");
    expect(noStatus.code).to.equal("PROTOCOL");
  });

  it("reads no more of an error than 64 KB, and does not wait for the rest", async () => {
    const failed = client.watch(scope, {}, abort.signal).catch((error: unknown) => error);
    const seen = await server.next();
    seen.head(500);
    seen.write("x".repeat(200_000));
    expect(await failed).to.include({ code: "SERVER_ERROR" });
    await server.resets.nextEvent("the stream is reset");
  });

  it("does not wait for ever for an error that does not end", async () => {
    const failed = client.watch(scope, {}, abort.signal).catch((error: unknown) => error);
    const seen = await server.next();
    seen.head(403);
    seen.write("because");
    await eventually(() => clock.pendingTimers === 1, "the body is being read");
    clock.advance(5_000);
    expect(await failed).to.include({ code: "FORBIDDEN" });
  });

  it("gives up an answer that stops, but not one that is slow", async () => {
    let received = 0;
    const counting: KubeTransport = {
      request: async (...request) => {
        const response = await transport.request(...request);
        const read = response.body.read.bind(response.body);
        response.body.read = (size?: number): unknown => {
          const chunk = read(size) as Buffer | null;
          received += chunk?.length ?? 0;
          return chunk;
        };
        return response;
      },
    };
    const failed = new RestClient(counting, { clock })
      .get(scope, abort.signal)
      .catch((error: unknown) => error);
    const seen = await server.next();
    seen.head(200);
    await eventually(() => clock.pendingTimers === 1, "the body is being read");
    clock.advance(59_999);
    seen.write('{"a":');
    await eventually(() => received === 5, "the piece");
    clock.advance(60_000);
    expect(await Promise.race([failed, Promise.resolve("going on")])).to.equal("going on");
    clock.advance(60_000);
    expect(await failed).to.include({ code: "TIMEOUT" });
  });

  it("aborts in every phase", async () => {
    const waiting = [1, 2, 3].map(() => client.get(scope, abort.signal).catch((error: unknown) => error));
    (await server.next()).head(200);
    await server.next();
    abort.abort();
    for (const error of await Promise.all(waiting)) expect(error).to.include({ code: "ABORTED" });
    expect(server.requests.size).to.equal(0);
  });

  it("limits concurrent calls, but not watches", async () => {
    const calls = [1, 2, 3].map(() => client.get(scope, abort.signal));
    const [first] = [await server.next(), await server.next()];
    const watching = client.watch(scope, {}, abort.signal);
    (await server.next()).head(200);
    (await watching).destroy();
    expect(server.requests.size).to.equal(0);
    first.head(200);
    first.end('{"metadata":{"name":"a"}}');
    await Promise.race(calls);
    expect((await server.next()).path).to.equal(`${collection}/a`);
    abort.abort();
    await Promise.allSettled(calls);
  });

  it("asks what is allowed by SelfSubjectAccessReview", async () => {
    const asked = client.isAllowed("watch", scope, abort.signal);
    const seen = await server.next();
    expect([seen.method, seen.path]).to.deep.equal([
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ]);
    expect(JSON.parse(await seen.body())).to.deep.equal({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: {
        resourceAttributes: {
          verb: "watch",
          group: type.group,
          version: type.version,
          resource: type.plural,
          namespace: "demo",
          name: "a",
        },
      },
    });
    seen.head(201);
    seen.end('{"status":{"allowed":true}}');
    expect(await asked).to.equal(true);
    for (const status of [{ allowed: false }, { allowed: false, denied: true }, undefined]) {
      const [allowed] = await answered(client.isAllowed("list", { type }, abort.signal), { status }, 201);
      expect(allowed).to.equal(false);
    }
  });

  it("gets, creates, replaces, patches, applies and deletes objects, and keeps unknown fields", async () => {
    const object = { metadata: { name: "a" }, spec: { brandNew: [1] } };
    const { signal } = abort;
    const check = async (
      call: Promise<unknown>,
      method: string,
      path: string,
      contentType?: string,
      body?: object,
    ): Promise<void> => {
      const seen = await server.next();
      expect([seen.method, seen.path, seen.headers["content-type"]]).to.deep.equal([
        method,
        path,
        contentType,
      ]);
      const text = await seen.body();
      expect(text === "" ? undefined : JSON.parse(text)).to.deep.equal(body);
      seen.head(200);
      seen.end(JSON.stringify(object));
      expect(await call).to.deep.equal(object);
    };
    const json = "application/json";
    await check(client.get(scope, signal), "GET", `${collection}/a`);
    await check(
      client.create(scope, object, signal, { query: { dryRun: "All" } }),
      "POST",
      `${collection}?dryRun=All`,
      json,
      object,
    );
    await check(
      client.create(scope, object, signal, { subresource: "token" }),
      "POST",
      `${collection}/a/token`,
      json,
      object,
    );
    await check(client.update(scope, object, signal), "PUT", `${collection}/a`, json, object);
    await check(
      client.patch(scope, "json", [{ op: "remove", path: "/spec" }], signal),
      "PATCH",
      `${collection}/a`,
      "application/json-patch+json",
      [{ op: "remove", path: "/spec" }],
    );
    await check(
      client.apply(scope, object, { fieldManager: "bunting", force: true, subresource: "status" }, signal),
      "PATCH",
      `${collection}/a/status?fieldManager=bunting&force=true`,
      "application/apply-patch+yaml",
      object,
    );
    await check(client.delete(scope, signal), "DELETE", `${collection}/a`);
    const preconditions = { preconditions: { uid: "u" } };
    await check(
      client.delete(scope, signal, preconditions),
      "DELETE",
      `${collection}/a`,
      json,
      preconditions,
    );
  });

  it("takes an answer without a body", async () => {
    const asked = client.raw({ method: "GET", path: "/readyz" }, abort.signal);
    const seen = await server.next();
    seen.head(200);
    seen.end();
    expect(await asked).to.equal(undefined);
  });
});
