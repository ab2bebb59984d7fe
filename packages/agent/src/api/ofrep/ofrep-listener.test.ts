import { type HttpRequestRecord, LongRequestQueue } from "@bunting/server";
import type { JsonObject } from "@bunting/protocol";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { createHash } from "node:crypto";
import { createCors } from "../http/cors.js";
import { OfrepAnswers } from "./ofrep-answers.js";
import { createOfrepListener } from "./ofrep-listener.js";
import { wholeOfrepRequests } from "./whole-ofrep-requests.js";
import {
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
    object: { state: "ENABLED", variants: { o: { b: [1], a: null } }, defaultVariant: "o" },
    codeDefault: { state: "ENABLED", variants: { on: true } },
    disabled: { state: "DISABLED", variants: { on: true }, defaultVariant: "on", metadata: { why: "test" } },
    targeted: {
      state: "ENABLED",
      variants: { red: "r", blue: "b" },
      defaultVariant: "red",
      targeting: { var: "color" },
    },
    "naïve: key with % and space": { state: "ENABLED", variants: { n: 1 }, defaultVariant: "n" },
  },
};
const broken: JsonObject = {
  flags: {
    broken: { state: "ENABLED", variants: { on: true }, defaultVariant: "on", targeting: { nonsense: [] } },
    described: {
      state: "ENABLED",
      variants: { on: true },
      defaultVariant: "on",
      targeting: { nonsense: [] },
      metadata: { owner: "ada" },
    },
  },
  metadata: { flagSetId: "broken" },
};

const bulk = "/ofrep/v1/evaluate/flags";

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

async function serve(options: WorldOptions & { maxRequestBodyBytes?: number } = {}): Promise<Served> {
  const world = createWorld({ documents: [document], ...options });
  const { maxRequestBodyBytes = 1_000_000 } = options;
  const shared = {
    ...world,
    answers: new OfrepAnswers(world),
    web: {
      ...world,
      cors: createCors([]),
      clock: systemClock,
      longRequests: new LongRequestQueue(),
      maxRequestBodyBytes,
    },
    contextHeaders: Object.keys(options.contextFromHeader ?? {}),
  };
  const { port } = await listen([], createOfrepListener(shared), {
    wholeRequests: wholeOfrepRequests(shared),
  });
  return { world, port, post: (path, body, headers, method) => post(port, path, body, headers, method) };
}

const body = (answer: HttpAnswer): unknown => JSON.parse(answer.text);

describe("OFREP", () => {
  releaseAfterEach();

  describe("as long as a source has not answered", () => {
    const failure = {
      errorCode: "GENERAL",
      errorDetails: "a source that may have the flag has not answered yet",
      metadata: null,
    };

    it("answers 503 for a flag that it may have, and the flags of the others", async () => {
      const { post, world } = await serve({ documents: [document, { flags: {} }], unread: [1] });
      expect((await post(`${bulk}/on`, {})).status).to.equal(200);
      // The second is too long for the server of whole requests.
      for (const sent of [{}, { context: { padding: "x".repeat(100_000) } }]) {
        const answer = await post(`${bulk}/nowhere`, sent);
        expect(answer.status).to.equal(503);
        expect(answer.headers.get("content-type")).to.equal("application/json");
        expect(body(answer)).to.deep.equal({ key: "nowhere", ...failure });
      }
      expect((await post(`${bulk}/nowhere`, {}, { "flagd-selector": "source=source-0" })).status).to.equal(
        404,
      );
      expect((await post(`${bulk}/nowhere`, {}, { "flagd-selector": "flagSetId=x" })).status).to.equal(503);
      world.unread.answered(1);
      expect((await post(`${bulk}/nowhere`, {})).status).to.equal(404);
      const failures = world.metrics.calls.filter(([name]) => name === "ofrepEvaluationFailed");
      expect(failures.map(([, , code]) => code)).to.deep.equal([
        "PROVIDER_NOT_READY",
        "PROVIDER_NOT_READY",
        "FLAG_NOT_FOUND",
        "PROVIDER_NOT_READY",
        "FLAG_NOT_FOUND",
      ]);
    });

    it("answers for all flags with those that there are, and 503 if there are none", async () => {
      const { post, world } = await serve({ documents: [document, { flags: {} }], unread: [1] });
      expect((await post(bulk, {})).status).to.equal(200);
      const selector = { "flagd-selector": "source=source-1" };
      const answer = await post(bulk, {}, selector);
      expect([answer.status, body(answer)]).to.deep.equal([503, failure]);
      world.unread.answered(1);
      expect((await post(bulk, {}, selector)).status).to.equal(200);
    });
  });

  describe("a single flag", () => {
    it("is answered with value, key, reason, variant and metadata", async () => {
      const { post } = await serve();
      const answer = await post(`${bulk}/on`, { context: { targetingKey: "ada" } });
      expect(answer.status).to.equal(200);
      expect(answer.headers.get("content-type")).to.equal("application/json");
      expect(answer.text).to.equal(
        '{"value":true,"key":"on","reason":"STATIC","variant":"on","metadata":{}}',
      );
      expect((await post(`${bulk}/off`, {})).text).to.include('"value":false');
      expect((await post(`${bulk}/object`, {})).text).to.include('"value":{"a":null,"b":[1]}');
    });

    it("is answered with or without a body and a context", async () => {
      const { post } = await serve();
      for (const sent of ["", "{}", '{"context":null}', "null", '{"context":{},"more":1}']) {
        expect((await post(`${bulk}/on`, sent)).status, sent).to.equal(200);
      }
    });

    it("may have any key without a slash, percent-encoded", async () => {
      const { post } = await serve();
      const answer = await post(`${bulk}/${encodeURIComponent("naïve: key with % and space")}?x=1`, {});
      expect(body(answer)).to.deep.include({ key: "naïve: key with % and space", value: 1 });
    });

    it("has neither value nor variant where the default in the code is meant, or the flag is disabled", async () => {
      const { post } = await serve();
      expect((await post(`${bulk}/codeDefault`, {})).text).to.equal(
        '{"key":"codeDefault","reason":"DEFAULT","metadata":{}}',
      );
      expect((await post(`${bulk}/disabled`, {})).text).to.equal(
        '{"key":"disabled","reason":"DISABLED","metadata":{"why":"test"}}',
      );
    });

    it("is evaluated against the context with the static and header values added", async () => {
      const { post } = await serve({ contextFromHeader: { "x-color": "color" } });
      expect((await post(`${bulk}/targeted`, { context: { color: "blue" } })).text).to.include('"value":"b"');
      expect((await post(`${bulk}/targeted`, {}, { "X-Color": "blue" })).text).to.include('"value":"b"');
      const fixed = await serve({ contextValues: { color: "blue" } });
      expect((await fixed.post(`${bulk}/targeted`, { context: { color: "red" } })).text).to.include(
        '"value":"b"',
      );
    });

    it("that fails is answered with flagd's errors", async () => {
      const { post } = await serve({ documents: [document, broken] });
      const missing = await post(`${bulk}/nowhere`, {});
      expect(missing.status).to.equal(404);
      expect(missing.text).to.equal(
        '{"key":"nowhere","errorCode":"FLAG_NOT_FOUND","errorDetails":"flag `nowhere` does not exist","metadata":{}}',
      );
      const general = await post(`${bulk}/targeted`, { context: { color: "green" } });
      expect(general.status).to.equal(400);
      expect(general.text).to.equal(
        '{"key":"targeted","errorCode":"GENERAL","errorDetails":"error processing the flag for evaluation","metadata":{}}',
      );
      const unparsed = await post(`${bulk}/described`, {});
      expect(unparsed.status).to.equal(400);
      expect(body(unparsed)).to.deep.equal({
        key: "described",
        errorCode: "PARSE_ERROR",
        errorDetails: "error parsing the flag `described`",
        metadata: { flagSetId: "broken", owner: "ada" },
      });
    });

    it("is answered INVALID_CONTEXT if the body is invalid", async () => {
      const { post } = await serve();
      const deep = `{"context":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
      for (const sent of [
        "{",
        "[]",
        '"text"',
        deep,
        '{"context":{"a":1e400}}',
        `{"context":{"a":${"9".repeat(400)}}}`,
      ]) {
        const answer = await post(`${bulk}/on`, sent);
        expect(answer.status).to.equal(400);
        expect(answer.text).to.equal(
          '{"key":"on","errorCode":"INVALID_CONTEXT","errorDetails":"Provider context is not valid","metadata":null}',
        );
      }
      expect(body(await post(bulk, "{"))).to.deep.equal({
        errorCode: "INVALID_CONTEXT",
        errorDetails: "Provider context is not valid",
        metadata: null,
      });
      expect(body(await post(`${bulk}/on`, "{", { "flagd-selector": "no=such" }))).to.include({
        errorCode: "INVALID_CONTEXT",
      });
    });

    it("may have a context as deep as a body allows, with bytes that are not UTF-8, under a name in any case", async () => {
      const { post } = await serve();
      const deep = `{"context":{"color":"blue","a":${"[".repeat(9_000)}${"]".repeat(9_000)}}}`;
      const notUtf8 = Buffer.from('{"context":{"color":"blue","a":"\xff"}}', "latin1");
      for (const sent of [deep, notUtf8, '{"context":1,"CONTEXT":{"color":"blue"}}']) {
        expect((await post(`${bulk}/targeted`, sent)).text).to.include('"variant":"blue"');
      }
      expect((await post(`${bulk}/targeted`, '{"context":{"color":"blue"},"Context":null}')).text).to.include(
        '"variant":"red"',
      );
    });

    it("is answered GENERAL where its variant is null, which OFREP can't say, alone and in a list", async () => {
      const nothing = { state: "ENABLED", variants: { nul: null, text: "a" }, defaultVariant: "nul" };
      const { post } = await serve({ documents: [{ flags: { nothing } }] });
      const alone = await post(`${bulk}/nothing`, {});
      expect(alone.status).to.equal(400);
      expect(body(alone)).to.include({ errorCode: "GENERAL" });
      expect(body(await post(bulk, {}))).to.have.deep.property("flags", [body(alone)]);
    });

    it("is evaluated against the first JSON value of the body, as in flagd; a body of white space is an empty one", async () => {
      const { post } = await serve();
      const blue = '{"context":{"color":"blue","x":["}",{"y":"\\\\\\"]"}]}}';
      for (const rest of [
        "x",
        "\0",
        ' {"context":{"color":"red"}}',
        "}",
        Buffer.of(0xff).toString("latin1"),
      ]) {
        const sent = Buffer.from(`${blue}${rest}`, "latin1");
        expect((await post(`${bulk}/targeted`, sent)).text, rest).to.include('"variant":"blue"');
      }
      expect((await post(`${bulk}/targeted`, " \n\t\r ")).text).to.include('"variant":"red"');
    });

    it("is evaluated without a context that is not an object, with one warning for all requests", async () => {
      const { post, world } = await serve();
      for (const context of [[], "text", 1]) {
        expect((await post(`${bulk}/on`, { context })).status).to.equal(200);
      }
      const levels = world.logger.lines.map(({ level }) => level);
      expect(levels.filter((level) => level !== "info")).to.deep.equal(["warn"]);
    });
  });

  it("answers other methods 405 and other paths 404", async () => {
    const { post } = await serve();
    for (const path of [bulk, `${bulk}/on`]) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const answer = await post(path, {}, {}, method);
        expect(answer.status, `${method} ${path}`).to.equal(405);
        expect(answer.text).to.equal("");
      }
    }
    for (const path of ["/", "/ofrep/v1/evaluate", `${bulk}/a/b`, `${bulk}/on/`, `${bulk}s`]) {
      expect((await post(path, {})).status, path).to.equal(404);
    }
    expect((await post(`${bulk}/a%2Fb`, {})).status, "as in flagd, escapes are decoded first").to.equal(404);
    expect((await post(`${bulk}/%`, {})).status).to.equal(400);
  });

  it("answers a body beyond the limit 413", async () => {
    const { post } = await serve({ maxRequestBodyBytes: 20 });
    const answer = await post(`${bulk}/on`, { context: { a: "x".repeat(2_000_000) } });
    expect(answer.status).to.equal(413);
    expect(answer.text).to.equal('{"errorDetails":"request body too large"}');
    expect((await post(`${bulk}/on`, '{"context":{"a":11}}')).status).to.equal(200);
  });

  it("evaluates the set of the Flagd-Selector header, and refuses a selector that can't be parsed", async () => {
    const { post } = await serve({ documents: [document, broken] });
    const select = (selector: string): Record<string, string> => ({ "Flagd-Selector": selector });
    expect((await post(`${bulk}/on`, {}, select("source=source-0"))).text).to.include(
      '"metadata":{"source":"source-0"}',
    );
    expect((await post(`${bulk}/on`, {}, select("flagSetId=broken"))).status).to.equal(404);
    for (const path of [bulk, `${bulk}/on`]) {
      const refused = await post(path, {}, select("color=red"));
      expect(refused.status).to.equal(400);
      expect(body(refused))
        .to.include({ errorCode: "GENERAL" })
        .and.have.property("errorDetails")
        .that.includes("color");
    }
  });

  describe("all flags", () => {
    it("are sorted by set and key, and include those without a value and failed ones", async () => {
      const { post } = await serve({ documents: [document, broken] });
      for (const path of [bulk, `${bulk}/`]) {
        const answer = await post(path, { context: { color: "blue" } });
        expect(answer.status).to.equal(200);
        const { flags, metadata } = body(answer) as { flags: Record<string, unknown>[]; metadata: unknown };
        expect(metadata).to.deep.equal({});
        expect(flags).to.deep.equal([
          { key: "codeDefault", reason: "DEFAULT", metadata: {} },
          { key: "disabled", reason: "DISABLED", metadata: { why: "test" } },
          { key: "naïve: key with % and space", value: 1, reason: "STATIC", variant: "n", metadata: {} },
          { key: "object", value: { a: null, b: [1] }, reason: "STATIC", variant: "o", metadata: {} },
          { key: "off", value: false, reason: "STATIC", variant: "off", metadata: {} },
          { key: "on", value: true, reason: "STATIC", variant: "on", metadata: {} },
          { key: "targeted", value: "b", reason: "TARGETING_MATCH", variant: "blue", metadata: {} },
          {
            key: "broken",
            errorCode: "PARSE_ERROR",
            errorDetails: "error parsing the flag `broken`",
            metadata: { flagSetId: "broken" },
          },
          {
            key: "described",
            errorCode: "PARSE_ERROR",
            errorDetails: "error parsing the flag `described`",
            metadata: { flagSetId: "broken", owner: "ada" },
          },
        ]);
      }
    });

    it("are those of the selected set, which the metadata names", async () => {
      const { post } = await serve({ documents: [document, broken] });
      const { flags, metadata } = body(await post(bulk, {}, { "flagd-selector": "flagSetId=broken" })) as {
        flags: { key: string }[];
        metadata: unknown;
      };
      expect(flags.map(({ key }) => key)).to.deep.equal(["broken", "described"]);
      expect(metadata).to.deep.equal({ flagSetId: "broken" });
      expect((await post(bulk, {}, { "flagd-selector": "flagSetId=none" })).text).to.equal(
        '{"flags":[],"metadata":{"flagSetId":"none"}}',
      );
    });

    it("have a key once for each flag set, answered as it is alone: with the flag of the latest source, or of the selected set", async () => {
      const of = (variant: string): JsonObject => ({
        flags: { shared: { state: "ENABLED", variants: { a: "a", b: "b" }, defaultVariant: variant } },
      });
      const { post } = await serve({
        documents: [
          { ...of("a"), metadata: { flagSetId: "z" } },
          { ...of("b"), metadata: { flagSetId: "y" } },
        ],
      });
      for (const [selector, variant] of [
        ["", "b"],
        ["flagSetId=z", "a"],
        ["source=source-0", "a"],
        ["flagSetId=y", "b"],
      ] as const) {
        const headers = { "Flagd-Selector": selector };
        const alone = body(await post(`${bulk}/shared`, {}, headers));
        expect(alone, selector).to.include({ variant });
        expect(body(await post(bulk, {}, headers)))
          .to.have.property("flags")
          .deep.equal(selector === "" ? [alone, alone] : [alone]);
      }
    });

    it("have an ETag of the body, and are answered 304 to a client that has that body", async () => {
      const { post, world } = await serve();
      const first = await post(bulk, {});
      const etag = first.headers.get("etag") ?? "";
      expect(etag).to.equal(`"${createHash("sha1").update(first.text).digest("base64url")}"`);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, `"a,b" ,W/${etag}`, "*", ` * `]) {
        const again = await post(bulk, {}, { "if-none-match": known });
        expect([again.status, again.text, again.headers.get("etag")], known).to.deep.equal([304, "", etag]);
      }
      for (const unknown of ['"other"', etag.slice(1, -1), `"x${etag.slice(1)}`, ""]) {
        expect((await post(bulk, {}, { "if-none-match": unknown })).status, unknown).to.equal(200);
      }
      const other = await post(bulk, { context: { color: "blue" } }, { "if-none-match": etag });
      expect(other.status, "another context, another answer").to.equal(200);
      world.put({ ...document, metadata: { release: "2" } });
      const changed = await post(bulk, {}, { "if-none-match": etag });
      expect(changed.status).to.equal(200);
      expect(changed.headers.get("etag")).not.to.equal(etag);
    });

    it("are answered 500 with a tracking id that is logged too, if the evaluation fails", async () => {
      const { post, world } = await serve();
      world.evaluator.resolveAll = () => {
        throw new Error("the evaluator is broken");
      };
      const answer = await post(bulk, {});
      expect(answer.status).to.equal(500);
      const { errorCode, errorDetails } = body(answer) as { errorCode: string; errorDetails: string };
      expect(errorCode).to.equal("GENERAL");
      const line = world.logger.lines.find(({ level }) => level === "error");
      expect(errorDetails).to.match(
        new RegExp(`Tracking ID: ${(line?.fields as { trackingId: string }).trackingId}$`),
      );
    });
  });

  it("counts evaluations, which flagd does not, and requests by route, not by path", async () => {
    const { post, world } = await serve();
    await post(`${bulk}/on`, {});
    await post(`${bulk}/nowhere`, {});
    await post("/etc/passwd", {});
    await post(bulk, {});
    const named = (name: string): (readonly unknown[])[] =>
      world.metrics.calls.filter(([called]) => called === name);
    expect(named("ofrepEvaluated")[0]).to.deep.equal(["ofrepEvaluated", "on", "STATIC", "on"]);
    expect(named("ofrepEvaluated")).to.have.length(1 + 7);
    expect(named("ofrepEvaluationFailed")).to.deep.equal([
      ["ofrepEvaluationFailed", "nowhere", "FLAG_NOT_FOUND"],
    ]);
    const requests = named("httpRequest").map(([, service, route, record]) => {
      const { method, status } = record as HttpRequestRecord;
      return [service, route, method, status];
    });
    expect(requests).to.deep.equal([
      ["ofrep", `${bulk}/{key}`, "POST", 200],
      ["ofrep", `${bulk}/{key}`, "POST", 404],
      ["ofrep", "", "POST", 404],
      ["ofrep", "/ofrep/v1/evaluate/{path:flags\\/|flags}", "POST", 200],
    ]);
  });
});
