import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { document, HttpServer, type Answer } from "@bunting/test/support/http-server.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { RemoteListener, type Listening } from "./remote.fixture.js";

const flag = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const of = (...keys: readonly string[]): string =>
  JSON.stringify({ flags: Object.fromEntries(keys.map((key) => [key, flag])) });
const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end("secret-token and <b>more</b>");

describe("an http remote", () => {
  let server: HttpServer;
  let listeners: RemoteListener[];
  beforeEach(async () => {
    listeners = [];
    server = new HttpServer();
    await server.start();
    server.answer = document(of("one"));
  });
  afterEach(async () => {
    for (const listener of listeners) await listener.stop();
    await eventually(() => server.open === 0, "no connection is left");
    await server.stop();
  });

  function listen(fields: Partial<Listening> = {}): RemoteListener {
    const { origin, port } = server;
    const scheme = origin.startsWith("https:") ? "" : "http://";
    const listener = new RemoteListener({
      provider: { type: "http", uri: `${origin}/flags` },
      hosts: [`${scheme}127.0.0.1:${port}=127.0.0.1`],
      ...fields,
    });
    listeners.push(listener);
    return listener;
  }

  it("tells each version, and the same object while nothing changes", async () => {
    const listener = listen();
    const first = await listener.document("one");
    expect(await listener.document("one")).to.equal(first);
    server.answer = document(of("one", "two"));
    await listener.document("one", "two");
    const { headers } = await server.requests.nextEvent();
    expect(headers).to.include({ "accept-encoding": "gzip" }).and.not.to.have.property("authorization");
    expect((await server.requests.nextEvent()).headers).to.have.property("if-none-match");
  });

  it("tells the same object of a server without validators, too", async () => {
    server.answer = (_request, response) => void response.end(of("one"));
    const listener = listen();
    expect(await listener.document("one")).to.equal(await listener.document("one"));
  });

  it("asks with the date of what it has, if that is what the server gives", async () => {
    const date = "Sat, 28 Nov 2026 07:00:00 GMT";
    server.answer = ({ headers }, response) =>
      headers["if-modified-since"] === date
        ? void response.writeHead(304).end()
        : void response.writeHead(200, { "last-modified": date }).end(of("one"));
    const listener = listen();
    expect(await listener.document("one")).to.equal(await listener.document("one"));
  });

  it("reads gzip and YAML", async () => {
    const yaml = "flags:\n  one:\n    state: ENABLED\n    variants: { on: true }\n    defaultVariant: on\n";
    const headers = { "content-encoding": "gzip", "content-type": "application/yaml" };
    server.answer = (_request, response) => void response.writeHead(200, headers).end(gzipSync(yaml));
    await listen().document("one");
  });

  it("sends a token as a bearer, and what has a scheme as it is", async () => {
    const token = listen({ credential: "secret-token\n" });
    await token.document("one");
    expect((await server.requests.nextEvent()).headers.authorization).to.equal("Bearer secret-token");
    await token.stop();
    const basic = "Basic dXNlcjpwYXNzd29yZA==";
    listen({ credential: basic });
    await server.requests.nextMatching(({ headers }) => headers.authorization === basic);
  });

  it("does not ask with a Secret that can't be sent, nor tells it", async () => {
    const { reason, message } = await listen({ credential: "secret\r\nx-more: 1" }).failure();
    expect(reason).to.equal("Credentials");
    expect(message).not.to.contain("secret\r\n").and.not.to.contain("x-more");
    expect(server.connections).to.equal(0);
  });

  const failures: readonly [what: string, answer: Answer, reason: string][] = [
    ["401", status(401), "Unauthorized"],
    ["403", status(403), "Forbidden"],
    ["404", status(404), "Missing"],
    ["410", status(410), "Missing"],
    ["429", status(429, { "retry-after": "0" }), "Throttled"],
    ["400", status(400), "ClientError"],
    ["503", status(503), "ServerError"],
    ["another status", status(204), "Empty"],
    ["an empty body", status(200), "DocumentInvalid"],
    ["a page", (_request, response) => void response.end("<html>"), "DocumentInvalid"],
    ["half a document", (_request, response) => void response.end(of("one").slice(0, 30)), "DocumentInvalid"],
    ["a list", (_request, response) => void response.end("[]"), "DocumentInvalid"],
    [
      "no flags that can be read",
      (_request, response) => void response.end('{"flags":{"a":1}}'),
      "DocumentInvalid",
    ],
    ["what is nested deep", (_request, response) => void response.end("[".repeat(50_000)), "DocumentInvalid"],
    ["too much", (_request, response) => void response.end("x".repeat(100_001)), "TooLarge"],
    ["a redirect elsewhere", status(302, { location: "http://169.254.169.254/latest" }), "Redirect"],
    ["304 to no condition", status(304), "UnexpectedStatus"],
    [
      "less than it announced",
      (_request, response) =>
        void response.writeHead(200, { "content-length": "50" }).write("{", () => response.destroy()),
      "Unreachable",
    ],
  ];
  for (const [what, answer, reason] of failures) {
    it(`says ${reason} of ${what}, not what the server wrote, and goes on`, async () => {
      server.answer = answer;
      const clock = new ManualClock();
      const listener = listen({ credential: "secret-token", clock });
      const failure = await listener.failure();
      expect(failure.reason).to.equal(reason);
      expect(failure.message).not.to.contain("secret-token").and.not.to.contain("<");
      server.answer = document(of("one"));
      await eventually(() => clock.pendingTimers > 0, "it waits");
      clock.advance(3_600_000);
      await listener.document("one");
    });
  }

  it("follows a redirect within the host, with the Secret", async () => {
    server.answer = (request, response) =>
      request.path === "/flags"
        ? void response.writeHead(302, { location: "/newest.json" }).end()
        : document(of("one"))(request, response);
    await listen({ credential: "secret-token" }).document("one");
    const { headers } = await server.requests.nextMatching(({ path }) => path === "/newest.json");
    expect(headers.authorization).to.equal("Bearer secret-token");
  });

  it("calls no host that is not listed", async () => {
    const { reason } = await listen({ hosts: [] }).failure();
    expect(reason).to.equal("HostRefused");
    expect((await listen({ hosts: [`http://127.0.0.1:${server.port}`] }).failure()).reason).to.equal(
      "AddressRefused",
    );
    expect(server.connections).to.equal(0);
  });

  it("gives flags without a default variant an empty one, for providers that need the field", async () => {
    server.answer = document('{"flags":{"one":{"state":"ENABLED","variants":{}}}}');
    const { flags } = await listen().document("one");
    expect(flags["one"]).to.include({ defaultVariant: "" });
  });

  it("leaves out flags that can't be served, and says which", async () => {
    server.answer = (_request, response) =>
      void response.end(
        `{"flags":{"bad":1,"two\\n":[],"three":null,"four":2,"one":${JSON.stringify(flag)}}}`,
      );
    const heard = await listen().heard.nextEvent();
    expect(heard).to.include({
      leftOut: `what the remote sent can't be served as flags, and is left out: "bad" (a flag is an object, but "bad" is a number), "two\\n" (a flag is an object, but "two\\n" is a list), "three" (a flag is an object, but "three" is null) and 1 more`,
    });
  });

  it("reads nothing that needs more heap than is free, nor more than a megabyte of YAML", async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, flag]));
    server.answer = (_request, response) => void response.end(JSON.stringify({ flags: many }));
    const { reason, message } = await listen({ heapBytes: () => 200_000 }).failure();
    expect([reason, message.includes("more heap than is free")]).to.deep.equal(["DocumentInvalid", true]);
    const headers = { "content-type": "application/yaml" };
    const yaml = `flags: {}\n${"#".repeat(1024 * 1024)}`;
    server.answer = (_request, response) => void response.writeHead(200, headers).end(yaml);
    const failure = await listen({ maxBytes: 2_000_000 }).failure();
    expect(failure.message).to.contain("serve a large document as JSON");
  });

  for (const [has, answer] of [
    ["says of it later that nothing has changed", document(of("one"))],
    ["has no validators", (_request, response) => void response.end(of("one"))],
  ] satisfies readonly (readonly [string, Answer])[]) {
    it(`reads what there was no heap for once there is, also where the server ${has}`, async () => {
      let heapBytes = 0;
      server.answer = answer;
      const listener = listen({ heapBytes: () => heapBytes });
      expect((await listener.failure()).message).to.contain("more heap than is free");
      heapBytes = Infinity;
      await listener.document("one");
    });
  }

  /** Reads a remote that answers so, until the next question is due in one of these times. */
  async function expectWait(
    answer: Answer,
    intervalMs: number,
    ...waitsMs: readonly number[]
  ): Promise<void> {
    server.answer = answer;
    const clock = new ManualClock();
    const provider = { type: "http", uri: `${server.origin}/flags`, intervalMs } as const;
    const listener = listen({ provider, clock });
    await listener.heard.nextEvent();
    await eventually(() => waitsMs.some((ms) => clock.hasTimerIn(ms)), `it waits ${waitsMs[0] ?? 0} ms`);
    expect(clock.pendingTimers).to.equal(1);
    await listener.stop();
  }

  it("asks at the pace of the interval, after a failure sooner, and later where it was refused", async () => {
    await expectWait(document(of("one")), 61_000, 61_000);
    await expectWait(status(500), 60_000, 500);
    await expectWait(status(401), 60_000, 60_000);
    await expectWait(status(403), 5_000, 60_000);
  });

  it("waits as long as the server asks, by seconds or by a date", async () => {
    await expectWait(status(429, { "retry-after": "120" }), 5_000, 120_000);
    const date = new Date(Date.now() + 600_000).toUTCString();
    const aboutTenMinutes = Array.from({ length: 10_000 }, (_, ms) => 600_000 - ms);
    await expectWait(status(503, { "retry-after": date }), 5_000, ...aboutTenMinutes);
    await expectWait(status(503, { "retry-after": "999999" }), 5_000, 3_600_000);
  });

  it("trusts the authority of the Secret, and tells of a certificate of another one", async () => {
    await server.stop();
    server = new HttpServer(true);
    await server.start();
    server.answer = document(of("one"));
    await listen({ ca: String(testTls.ca) }).document("one");
    const { reason, message } = await listen().failure();
    expect(reason).to.equal("Unreachable");
    expect(message).to.contain("certificate");
  });
});
