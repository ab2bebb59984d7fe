import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { document, HttpServer } from "@bunting/test/support/http-server.js";
import { RemoteListener } from "./remote.fixture.js";

const answer = {
  flags: [
    { key: "on", value: true, reason: "STATIC", variant: "yes", metadata: { owner: "shop" } },
    { key: "odd", value: { a: [1] }, reason: "TARGETING_MATCH" },
    { key: "broken", errorCode: "PARSE_ERROR", errorDetails: "secret-token" },
    { key: "off", reason: "DISABLED" },
    { key: 1, value: 1 },
    null,
  ],
  metadata: {},
};

describe("an ofrep-bulk remote", () => {
  let server: HttpServer;
  let listener: RemoteListener | undefined;
  beforeEach(async () => {
    server = new HttpServer();
    await server.start();
    server.answer = document(JSON.stringify(answer));
  });
  afterEach(async () => {
    await listener?.stop();
    await eventually(() => server.open === 0, "no connection is left");
    await server.stop();
  });

  function listen(path: string): RemoteListener {
    listener = new RemoteListener({
      provider: { type: "ofrep-bulk", uri: `${server.origin}${path}`, selector: "flagSetId=shop" },
      hosts: [`http://127.0.0.1:${server.port}=127.0.0.1`],
      credential: "secret-token",
    });
    return listener;
  }

  it("makes of each value a flag that always has it, and none of what has no value", async () => {
    const { flags } = await listen("").document("odd", "on");
    expect(flags).to.deep.equal({
      on: { state: "ENABLED", variants: { yes: true }, defaultVariant: "yes", metadata: { owner: "shop" } },
      odd: { state: "ENABLED", variants: { value: { a: [1] } }, defaultVariant: "value" },
    });
  });

  for (const path of ["", "/", "/base/", "/base/ofrep/v1/evaluate/flags"]) {
    it(`asks for all values below ${path === "" ? "the host" : path}`, async () => {
      listen(path);
      const request = await server.requests.nextEvent();
      expect(request.method).to.equal("POST");
      expect(request.path).to.equal(`${path.startsWith("/base") ? "/base" : ""}/ofrep/v1/evaluate/flags`);
      expect(JSON.parse(request.body)).to.deep.equal({ context: { targetingKey: "bunting" } });
      expect(request.headers).to.include({
        authorization: "Bearer secret-token",
        "flagd-selector": "flagSetId=shop",
      });
    });
  }

  it("tells the same object while the service says that nothing has changed", async () => {
    const reading = listen("");
    const first = await reading.document("odd", "on");
    expect(await reading.document("odd", "on")).to.equal(first);
    await server.requests.nextMatching(({ headers }) => headers["if-none-match"] !== undefined);
  });

  it("says why there are no values, and goes on", async () => {
    const reading = listen("");
    await reading.document("odd", "on");
    server.answer = (_request, response) => void response.end("{}");
    expect((await reading.failure()).reason).to.equal("DocumentInvalid");
    server.answer = (_request, response) =>
      void response.writeHead(307, { location: "http://169.254.169.254/" }).end();
    await reading.heard.nextMatching((heard) => "failure" in heard && heard.failure.reason === "Redirect");
    server.answer = (_request, response) => void response.writeHead(503).end("secret-token");
    await reading.heard.nextMatching((heard) => "failure" in heard && heard.failure.reason === "ServerError");
    server.answer = document(JSON.stringify(answer));
    await reading.document("odd", "on");
  });

  it("sends no condition that a server refuses, nor one that is too long for its headers", async () => {
    const text = JSON.stringify(answer);
    server.answer = ({ headers }, response) =>
      headers["if-none-match"] === undefined
        ? void response.writeHead(200, { etag: '"refused"' }).end(text)
        : void response.writeHead(412).end();
    const reading = listen("");
    await reading.document("odd", "on");
    expect((await reading.failure()).reason).to.equal("ClientError");
    await reading.document("odd", "on");
    const conditions: (string | undefined)[] = [];
    server.answer = ({ headers }, response) => {
      conditions.push(headers["if-none-match"]);
      response.writeHead(200, { etag: `"${"x".repeat(8_000)}"` }).end(text);
    };
    await eventually(() => conditions.length === 4, "four questions");
    expect(conditions.slice(1)).to.deep.equal([undefined, undefined, undefined]);
  });

  it("leaves out what is no flag, whatever a service sends in its place", async () => {
    const deep = JSON.parse("[".repeat(190) + "]".repeat(190)) as unknown;
    const flags: readonly unknown[] = [
      ...[
        null,
        1,
        "a",
        [],
        {},
        { key: "" },
        { key: null, value: 1 },
        { key: "undefined" },
        { key: {}, value: 1 },
      ],
      { key: "", value: true },
      { key: "error", value: true, errorCode: null },
      { key: "__proto__", value: { __proto__: { polluted: true } } },
      { key: "constructor", value: "text", variant: "__proto__" },
      { key: "deep", value: deep },
      { key: "metadata", value: 1, metadata: { nested: {}, list: [], fits: "yes" } },
      { key: "odd", value: 1, variant: { a: 1 }, metadata: "none", state: "DISABLED", targeting: { if: [] } },
      { key: "twice", value: "first" },
      { key: "twice", value: "second" },
    ];
    const text = JSON.stringify({ flags, errorCode: "GENERAL", metadata: [] });
    server.answer = (_request, response) =>
      void response.end(text.replace('{"key":"twice"', '{"key":"infinite","value":1e999},{"key":"twice"'));
    const read = await listen("").document("__proto__", "constructor", "deep", "metadata", "odd", "twice");
    const valueOf = (key: string): unknown => {
      const { variants, defaultVariant } = Object.entries(read.flags).find(([name]) => name === key)?.[1] as {
        readonly variants: object;
        readonly defaultVariant: string;
      };
      return Object.entries(variants).find(([name]) => name === defaultVariant)?.[1];
    };
    expect(["constructor", "metadata", "odd", "twice"].map(valueOf)).to.deep.equal(["text", 1, 1, "second"]);
    expect(read.flags["metadata"]).to.have.deep.property("metadata", { fits: "yes" });
    expect(read.flags["odd"])
      .to.have.all.keys("state", "variants", "defaultVariant")
      .and.include({ state: "ENABLED" });
    expect(({} as { readonly polluted?: unknown }).polluted).to.equal(undefined);
  });
});
