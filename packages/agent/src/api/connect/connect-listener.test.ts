import { type HttpRequestRecord, LongRequestQueue, ReadFairness } from "@bunting/server";
import { evaluationV1 as v1, evaluationV2 as v2, type JsonObject } from "@bunting/protocol";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { connect } from "node:http2";
import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { connect as connectTcp } from "node:net";
import { EventStreams } from "../events/event-stream.js";
import { createCors } from "../http/cors.js";
import { createConnectListener } from "./connect-listener.js";
import {
  afterwards,
  createWorld,
  listen,
  post,
  releaseAfterEach,
  type HttpAnswer,
  type World,
  type WorldOptions,
} from "../api.fixture.js";

const document: JsonObject = {
  flags: {
    on: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
    off: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" },
    empty: { state: "ENABLED", variants: { none: "" }, defaultVariant: "none" },
    number: {
      state: "ENABLED",
      variants: { n: 3.9, huge: 1e19, big: 9007199254740994 },
      defaultVariant: "n",
      targeting: { var: "number" },
    },
    object: { state: "ENABLED", variants: { o: { b: "é", a: 1 } }, defaultVariant: "o" },
    codeDefault: { state: "ENABLED", variants: { on: true } },
    disabled: { state: "DISABLED", variants: { o: { a: 1 } }, defaultVariant: "o" },
    broken: { state: "ENABLED", variants: { on: true }, defaultVariant: "on", targeting: { nonsense: [] } },
    targeted: {
      state: "ENABLED",
      variants: { red: "r", blue: "b", "blue, red": "both" },
      defaultVariant: "red",
      targeting: { var: "color" },
    },
  },
};

const booleanV1 = "/flagd.evaluation.v1.Service/ResolveBoolean";
const booleanV2 = "/flagd.evaluation.v2.Service/ResolveBoolean";
const booleanSchema = "/schema.v1.Service/ResolveBoolean";

interface Served {
  readonly world: World;
  readonly port: number;
  readonly post: (
    path: string,
    body: unknown,
    headers?: Record<string, string>,
    method?: string,
  ) => Promise<HttpAnswer>;
}

async function serve(
  options: WorldOptions & { maxRequestBodyBytes?: number; turns?: ReadFairness } = {},
): Promise<Served> {
  const world = createWorld({ documents: [document], ...options });
  const { services, metrics, logger } = world;
  const { maxRequestBodyBytes = 1_000_000 } = options;
  const { selections, store: flags } = world;
  const http = createConnectListener({
    services,
    events: new EventStreams({ flags, selections, clock: systemClock, streamDeadlineMs: 0, recentMs: 0 }),
    web: {
      cors: createCors([]),
      metrics,
      clock: systemClock,
      longRequests: new LongRequestQueue(),
      maxRequestBodyBytes,
    },
    logger,
  });
  const { port } = await listen([], http, { turns: options.turns });
  return { world, port, post: (path, body, headers, method) => post(port, path, body, headers, method) };
}

function expectError(answer: HttpAnswer, status: number, code: string): void {
  expect(answer.headers.get("content-type")).to.equal("application/json");
  expect({ status: answer.status, code: (JSON.parse(answer.text) as { code: string }).code }).to.deep.equal({
    status,
    code,
  });
}

/** An answer for people: no call was made. */
function expectPage(answer: HttpAnswer, status: number): void {
  expect(answer.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
  expect(answer.status).to.equal(status);
  expect(answer.text).to.match(/^[A-Z].*\.\n$/);
}

describe("Connect", () => {
  releaseAfterEach();

  it("answers the operator's end-to-end request with the members in order", async () => {
    const { post } = await serve();
    const { status, text, headers } = await post(booleanSchema, { flagKey: "on", context: {} });
    expect(status).to.equal(200);
    expect(headers.get("content-type")).to.equal("application/json");
    expect(text).to.equal('{"value":true,"reason":"STATIC","variant":"on","metadata":{}}');
  });

  it("counts calls whose message could be read, by protocol and status", async () => {
    const { post, world } = await serve();
    await post(booleanV1, { flagKey: "on" });
    await post(booleanV1, { flagKey: "absent" });
    await post(booleanV1, { flagKey: 1 });
    const calls = world.metrics.calls
      .filter(([name]) => name === "rpc")
      .map(([, system, path, code]) => [system, path, code]);
    expect(calls).to.deep.equal([
      ["connect_rpc", booleanV1, "OK"],
      ["connect_rpc", booleanV1, "NOT_FOUND"],
    ]);
  });

  it("reads a context that is nested 9,990 levels deep, and refuses 10,000", async () => {
    const { post } = await serve();
    const nested = (levels: number): string =>
      `{"flagKey":"on","context":{"deep":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
    expect((await post(booleanV1, nested(9_990))).status).to.equal(200);
    expectError(await post(booleanV1, nested(10_000)), 400, "invalid_argument");
  });

  it("reads both spellings of a field, and ignores unknown ones", async () => {
    const { post } = await serve();
    for (const body of [
      { flag_key: "on" },
      { flagKey: "on", context: null },
      { flagKey: "on", colour: { red: 1 } },
    ]) {
      expect((await post(booleanV1, body)).text).to.include('"value":true');
    }
  });

  it("writes empty values too: false, the empty string; int64 as a string", async () => {
    const { post } = await serve();
    expect((await post(booleanV1, { flagKey: "off" })).text).to.equal(
      '{"value":false,"reason":"STATIC","variant":"off","metadata":{}}',
    );
    expect((await post("/flagd.evaluation.v2.Service/ResolveString", { flagKey: "empty" })).text).to.include(
      '{"value":"",',
    );
    const int = async (number: string): Promise<unknown> =>
      (
        JSON.parse(
          (await post("/flagd.evaluation.v1.Service/ResolveInt", { flagKey: "number", context: { number } }))
            .text,
        ) as { value: unknown }
      ).value;
    expect(await int("n")).to.equal("3");
    expect(await int("big")).to.equal("9007199254740994");
    expect(await int("huge")).to.equal("-9223372036854775808");
    expect((await post("/schema.v1.Service/ResolveFloat", { flagKey: "number" })).text).to.include(
      '"value":3.9',
    );
    expect((await post("/schema.v1.Service/ResolveObject", { flagKey: "object" })).text).to.include(
      '{"value":{"a":1,"b":"é"},',
    );
  });

  it("omits value and variant from a v2 answer without them, and writes zero values in the other dialects", async () => {
    const { post } = await serve();
    expect((await post(booleanV2, { flagKey: "codeDefault" })).text).to.equal(
      '{"reason":"DEFAULT","metadata":{}}',
    );
    expect((await post(booleanSchema, { flagKey: "codeDefault" })).text).to.equal(
      '{"value":false,"reason":"DEFAULT","variant":"","metadata":{}}',
    );
    expect((await post("/flagd.evaluation.v1.Service/ResolveObject", { flagKey: "disabled" })).text).to.equal(
      '{"value":{},"reason":"DISABLED","variant":"","metadata":{}}',
    );
  });

  it("answers ResolveAll with flags by key", async () => {
    const { post } = await serve({
      documents: [
        {
          flags: {
            b: { state: "ENABLED", variants: { x: 1 }, defaultVariant: "x" },
            a: { state: "ENABLED", variants: { o: { z: 1 } }, defaultVariant: "o" },
          },
        },
      ],
    });
    const all = await post("/flagd.evaluation.v1.Service/ResolveAll", {});
    expect(all.text).to.equal(
      '{"flags":{"a":{"reason":"STATIC","variant":"o","objectValue":{"z":1},"metadata":{}},"b":{"reason":"STATIC","variant":"x","doubleValue":1,"metadata":{}}},"metadata":{}}',
    );
    const old = await post("/schema.v1.Service/ResolveAll", {});
    expect(old.text).to.equal(
      '{"flags":{"a":{"reason":"STATIC","variant":"o","objectValue":{"z":1}},"b":{"reason":"STATIC","variant":"x","doubleValue":1}}}',
    );
    expectPage(await post("/flagd.evaluation.v2.Service/ResolveAll", {}), 404);
  });

  it("answers errors as Connect does", async () => {
    const { post } = await serve();
    const missing = await post(booleanV1, { flagKey: "nowhere" });
    expect(missing.text).to.equal('{"code":"not_found","message":"Flag not found"}');
    expect(missing.status).to.equal(404);
    expectError(await post(booleanV1, { flagKey: "empty" }), 400, "invalid_argument");
    expectError(await post(booleanV1, { flagKey: "broken" }), 500, "data_loss");
    expectError(
      await post("/schema.v1.Service/ResolveString", { flagKey: "targeted", context: { color: "green" } }),
      500,
      "unknown",
    );
  });

  const unreadable: Record<string, string> = {
    "an empty body": "",
    "no JSON": "{",
    "a list": "[]",
    null: "null",
    "a flag key that is not a string": '{"flagKey":1}',
    "a context that is not an object": '{"flagKey":"on","context":[]}',
    "a context nested too deeply": `{"flagKey":"on","context":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`,
  };
  for (const [what, body] of Object.entries(unreadable)) {
    it(`answers ${what} with invalid_argument`, async () => {
      const { post, world } = await serve();
      expectError(await post(booleanV1, body), 400, "invalid_argument");
      expect(world.logger.lines.filter(({ level }) => level !== "info")).to.deep.equal([]);
    });
  }

  it("answers bytes that are not UTF-8 with invalid_argument", async () => {
    const { post } = await serve();
    expectError(await post(booleanV1, Buffer.from('{"flagKey":"\xff"}', "latin1")), 400, "invalid_argument");
  });

  it("answers protobuf to protobuf, and errors as JSON", async () => {
    const { post, port } = await serve();
    const proto = { "content-type": "application/proto" };
    const body = v2.ResolveBooleanRequest.encode({ flagKey: "on", context: { a: 1 } }).finish();
    const response = await fetch(`http://127.0.0.1:${port}${booleanV2}`, {
      method: "POST",
      headers: { ...proto, connection: "close" },
      body: Buffer.from(body),
    });
    expect(response.headers.get("content-type")).to.equal("application/proto");
    expect(v2.ResolveBooleanResponse.decode(new Uint8Array(await response.arrayBuffer()))).to.deep.equal({
      value: true,
      reason: "STATIC",
      variant: "on",
      metadata: {},
    });
    const all = await fetch(`http://127.0.0.1:${port}/flagd.evaluation.v1.Service/ResolveAll`, {
      method: "POST",
      headers: { ...proto, connection: "close" },
      body: Buffer.alloc(0),
    });
    expect(v1.ResolveAllResponse.decode(new Uint8Array(await all.arrayBuffer())).flags).to.have.property(
      "on",
    );
    expectError(await post(booleanV2, Buffer.from("0a05616263", "hex"), proto), 400, "invalid_argument");
  });

  it("accepts parameters of the content type, and answers other types 415 with a list of the supported ones", async () => {
    const { post } = await serve();
    expect(
      (await post(booleanV1, { flagKey: "on" }, { "content-type": "Application/JSON; charset=utf-8" }))
        .status,
    ).to.equal(200);
    for (const type of [
      "text/plain",
      "application/xml",
      "application/json; charset=iso-8859-1",
      "application/json; charset=utf-8; x=1",
      "application/connect+json",
      "application/grpc-web-text+json",
    ]) {
      const answer = await post(booleanV1, "{}", { "content-type": type });
      expectPage(answer, 415);
      const accepted = answer.headers.get("accept-post")?.split(", ");
      expect(accepted).to.include.members(["application/json", "application/proto", "application/grpc-web"]);
      expect(accepted).not.to.include.oneOf(["application/connect+json", "application/grpc-web-text"]);
    }
    const stream = await post("/flagd.evaluation.v1.Service/EventStream", {});
    expectPage(stream, 415);
    expect(stream.headers.get("accept-post")?.split(", ")).to.include("application/connect+json");
  });

  it("repeats the content type of the request, and names the encoding it takes", async () => {
    const { post } = await serve();
    for (const type of ["application/json", "application/json; charset=utf-8"]) {
      const { headers } = await post(booleanV1, { flagKey: "on" }, { "content-type": type.toUpperCase() });
      expect(headers.get("content-type")).to.equal(type);
      expect(headers.get("accept-encoding")).to.equal("gzip");
    }
  });

  it("unfolds gzip, and answers small and large messages with it", async () => {
    const { post } = await serve({
      documents: [
        {
          flags: {
            text: {
              state: "ENABLED",
              variants: { a: "short", b: "é".repeat(5_000) },
              targeting: { var: "v" },
            },
          },
        },
      ],
    });
    for (const [variant, length] of [
      ["a", 5],
      ["b", 5_000],
    ] as const) {
      const body = gzipSync(JSON.stringify({ flagKey: "text", context: { v: variant } }));
      const answer = await post("/flagd.evaluation.v2.Service/ResolveString", body, {
        "content-encoding": "gzip",
      });
      // fetch has decoded it.
      expect(answer.headers.get("content-encoding")).to.equal("gzip");
      expect((JSON.parse(answer.text) as { value: string }).value).to.have.length(length);
    }
    expectError(await post(booleanV2, "no gzip", { "content-encoding": "gzip" }), 400, "invalid_argument");
    expectError(await post(booleanV2, "{}", { "content-encoding": "br" }), 501, "unimplemented");
    const bomb = gzipSync(Buffer.alloc(20_000_000, 0x20));
    expectError(await post(booleanV2, bomb, { "content-encoding": "gzip" }), 429, "resource_exhausted");
  });

  it("counts what it compresses as work of the turn, however little is left of it", async () => {
    const turns = new ReadFairness({ perTurn: 100 });
    let pauses = 0;
    turns.enter({ pauseForTurn: () => pauses++, resumeAfterTurn: () => undefined }, "10.0.0.2");
    const variants = { small: "é", large: "é".repeat(500_000) };
    const text = { state: "ENABLED", variants, targeting: { var: "v" } };
    const { post } = await serve({ documents: [{ flags: { text } }], turns });
    for (const [variant, expected] of Object.entries({ small: 0, large: 1 })) {
      const asked = { flagKey: "text", context: { v: variant } };
      const { status } = await post("/flagd.evaluation.v2.Service/ResolveString", asked, {
        "accept-encoding": "gzip",
      });
      expect({ status, pauses }, variant).to.deep.equal({ status: 200, pauses: expected });
    }
  });

  it("unfolds gzip to as much as a request may have, and without a limit to some times of what was sent", async () => {
    const zipped = { "content-encoding": "gzip" };
    const request = (bytes: number): Buffer =>
      gzipSync(JSON.stringify({ flagKey: "on", context: { a: "x".repeat(bytes - 40) } }));
    const limited = await serve({ maxRequestBodyBytes: 10_000 });
    expect((await limited.post(booleanV2, request(9_900), zipped)).status).to.equal(200);
    expectError(await limited.post(booleanV2, request(10_100), zipped), 429, "resource_exhausted");
    const unlimited = await serve({ maxRequestBodyBytes: 0 });
    expect((await unlimited.post(booleanV2, request(1_000_000), zipped)).status).to.equal(200);
    const bomb = gzipSync(Buffer.alloc(20_000_000, 0x20));
    expectError(await unlimited.post(booleanV2, bomb, zipped), 429, "resource_exhausted");
  });

  it("refuses JSON that protobuf does not take: names that are there twice, broken text, numbers without end", async () => {
    const { post } = await serve();
    for (const context of ['{"a":1,"a":1}', '{"a":"\\ud800"}', '{"\\udc00":1}', '{"a":1e400}', "[]", "1"]) {
      expectError(await post(booleanV2, `{"flagKey":"on","context":${context}}`), 400, "invalid_argument");
    }
    expectError(await post(booleanV2, '{"flagKey":"on","flag_key":"on"}'), 400, "invalid_argument");
    const fine = '{"flagKey":"on","context":{"a":{"a":":\\"","b":"\\ud83d\\ude00"},"__proto__":1}}';
    expect((await post(booleanV2, fine)).status).to.equal(200);
  });

  it("refuses another version of the protocol, and a timeout that is none", async () => {
    const { post } = await serve();
    const on = { flagKey: "on" };
    for (const headers of [
      { "connect-protocol-version": "2" },
      { "connect-timeout-ms": "1.5" },
      { "connect-timeout-ms": "12345678901" },
    ]) {
      expectError(await post(booleanV2, on, headers), 400, "invalid_argument");
    }
    const headers = { "connect-protocol-version": "1", "connect-timeout-ms": "5000" };
    expect((await post(booleanV2, on, headers)).status).to.equal(200);
  });

  it("answers other methods 405 and other paths 404", async () => {
    const { post, world } = await serve();
    const get = await post(booleanV1, undefined, {}, "GET");
    expectPage(get, 405);
    expect(get.headers.get("allow")).to.equal("POST");
    expectPage(await post("/flagd.evaluation.v1.Service/ResolveColour", {}), 404);
    expectPage(await post("/", {}), 404);
    expectError(await post(booleanV1, "x", { "content-encoding": "br" }), 501, "unimplemented");
    const routes = world.metrics.calls
      .filter(([name]) => name === "httpRequest")
      .map(([, , route, record]) => {
        const { method, status } = record as HttpRequestRecord;
        return [route, method, status];
      });
    expect(routes, "a path chosen by a client is not a label").to.deep.equal([
      [booleanV1, "GET", 405],
      ["", "POST", 404],
      ["", "POST", 404],
      [booleanV1, "POST", 501],
    ]);
  });

  it("answers a body beyond the limit with resource_exhausted at its end, and accepts one at the limit", async () => {
    const { post } = await serve({ maxRequestBodyBytes: 100 });
    const body = (bytes: number): string => `{"flagKey":"on","x":"${"x".repeat(bytes - 23)}"}`;
    expect(body(100)).to.have.length(100);
    expect((await post(booleanV1, body(100))).status).to.equal(200);
    expectError(await post(booleanV1, body(101)), 429, "resource_exhausted");
    expectError(await post(booleanV1, body(5_000_000)), 429, "resource_exhausted");
    const unbounded = await serve({ maxRequestBodyBytes: 0 });
    expect((await unbounded.post(booleanV1, body(5_000_000))).status).to.equal(200);
  });

  it("stops reading a body that never ends", async () => {
    const { port } = await serve({ maxRequestBodyBytes: 100 });
    const socket = connectTcp(port, "127.0.0.1");
    afterwards(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.write(
      `POST ${booleanV1} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const chunk = Buffer.alloc(64 * 1024, "x");
    let sent = 0;
    const pump = (): void => {
      if (socket.destroyed || sent > 64 * 1024 * 1024) return;
      sent += chunk.length;
      socket.write(`${chunk.length.toString(16)}\r\n`);
      socket.write(chunk);
      if (socket.write("\r\n")) setImmediate(pump);
      else socket.once("drain", pump);
    };
    pump();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(sent).to.be.lessThan(64 * 1024 * 1024);
  });

  it("maps headers into the context by their first value, but not in schema.v1", async () => {
    const { post } = await serve({ contextFromHeader: { "X-Color": "color" } });
    const ask = (path: string, header: string): Promise<HttpAnswer> =>
      post(path, { flagKey: "targeted", context: { color: "red" } }, { "x-color": header });
    expect((await ask("/flagd.evaluation.v1.Service/ResolveString", "blue")).text).to.include('"value":"b"');
    expect((await ask("/flagd.evaluation.v1.Service/ResolveString", "")).text).to.include('"value":"r"');
    expect((await ask("/schema.v1.Service/ResolveString", "blue")).text).to.include('"value":"r"');
  });

  it("evaluates the set of the Flagd-Selector header, and refuses a selector that can't be parsed", async () => {
    const { post } = await serve();
    expect((await post(booleanV1, { flagKey: "on" }, { "Flagd-Selector": "source-0" })).text).to.include(
      '"metadata":{"source":"source-0"}',
    );
    expectError(
      await post(booleanV1, { flagKey: "on" }, { "Flagd-Selector": "flagSetId=other" }),
      404,
      "not_found",
    );
    expectError(
      await post(booleanV1, { flagKey: "on" }, { "Flagd-Selector": "color=red" }),
      400,
      "invalid_argument",
    );
  });

  it("answers the same over HTTP/2 without TLS", async () => {
    const { port } = await serve();
    const session = connect(`http://127.0.0.1:${port}`);
    afterwards(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": booleanSchema,
      "content-type": "application/json",
    });
    stream.end('{"flagKey":"on"}');
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(headers).to.include({ ":status": 200, "content-type": "application/json" });
    let text = "";
    for await (const chunk of stream) text += String(chunk);
    expect(text).to.equal('{"value":true,"reason":"STATIC","variant":"on","metadata":{}}');
  });

  it("takes headers with commas, and the first of several with a name, over HTTP/1.1 and HTTP/2", async () => {
    const { port, post } = await serve({ contextFromHeader: { "X-Color": "color" } });
    const path = "/flagd.evaluation.v1.Service/ResolveString";
    const request = { flagKey: "targeted" };
    expect((await post(path, request, { "x-color": "blue, red" })).text).to.include('"value":"both"');
    const session = connect(`http://127.0.0.1:${port}`);
    afterwards(() => session.destroy());
    for (const [colors, value] of [
      ["blue, red", "both"],
      [["blue", "red"], "b"],
    ] as const) {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/json",
        "x-color": [...(typeof colors === "string" ? [colors] : colors)],
      });
      stream.end(JSON.stringify(request));
      let text = "";
      for await (const chunk of stream) text += String(chunk);
      expect(text).to.include(`"value":"${value}"`);
    }
  });

  it("logs an internal error, and answers without its details", async () => {
    const { world, post } = await serve();
    world.evaluator.resolve = () => {
      throw new Error("the evaluator is broken");
    };
    const answer = await post(booleanV1, { flagKey: "on" });
    expectError(answer, 500, "unknown");
    expect(answer.text).not.to.include("broken");
    const problems = world.logger.lines.filter(({ level }) => level !== "info");
    expect(problems.map(({ level, message }) => [level, message])).to.deep.equal([
      ["error", "an evaluation over HTTP failed"],
    ]);
  });

  it("measures each request, with its real status and length", async () => {
    const { world, post } = await serve();
    const { text } = await post(booleanV1, { flagKey: "on" }, { "accept-encoding": "identity" });
    const [measured] = world.metrics.calls.filter(([name]) => name === "httpRequest");
    expect(measured?.slice(0, 3)).to.deep.equal(["httpRequest", "evaluation", booleanV1]);
    const record = measured?.[3] as HttpRequestRecord;
    expect(record).to.include({ method: "POST", status: 200, responseBytes: Buffer.byteLength(text) });
    expect(record.durationMs).to.be.within(0, 60_000);
    const active = world.metrics.calls
      .filter(([name]) => name === "httpActiveRequests")
      .map(([, route, , change]) => [route, change]);
    expect(active).to.deep.equal([
      [booleanV1, 1],
      [booleanV1, -1],
    ]);
  });
});
