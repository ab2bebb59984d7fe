import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FastClock } from "@bunting/test/support/fast-clock.js";
import { testTls } from "@bunting/test/support/faulty-api-server/index.js";
import { type Answer, document, HttpServer, type SeenRequest } from "@bunting/test/support/http-server.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import type { SourceConfig } from "../source-config.js";
import { createSyncSource } from "../create-source.fixture.js";
import { noSharedCredentials } from "../grpc-credentials.js";
import { parseSources } from "../parse-sources.js";
import { SourceProbe } from "../sync.fixture.js";
import type { SyncSource } from "../sync-source.js";

const one = '{"flags":{"one":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}';
const two = one.replace('"one"', '"two"');

interface Running {
  readonly source: SyncSource;
  readonly probe: SourceProbe;
  readonly stop: () => Promise<void>;
}

const clock = new FastClock(10);

describe("an http source", () => {
  let server: HttpServer;
  let other: HttpServer;
  let origin: string;
  let running: Running[];
  let configs: SourceConfig[];
  beforeEach(async () => {
    [running, configs] = [[], []];
    server = new HttpServer();
    other = new HttpServer();
    origin = await server.start();
    await other.start();
  });
  afterEach(async () => {
    try {
      for (const each of running) await each.stop();
      await eventually(() => server.open === 0, "no connection of the source is left");
    } finally {
      await server.stop();
      await other.stop();
    }
  });

  /** The shortest interval that the options allow, of a second, takes 0.1 s. */
  function run(fields: object = {}, probe = new SourceProbe(clock), given?: SourceConfig): Running {
    const source = { uri: `${origin}/flags`, provider: "http", interval: 1, timeoutS: 600, ...fields };
    const config = given ?? parseSources({ uris: [], sources: JSON.stringify([source]) })[0];
    if (config === undefined) throw new Error("a source");
    configs.push(config);
    const created = createSyncSource(config, probe.options);
    const abort = new AbortController();
    const ended = created.run(abort.signal);
    const each: Running = {
      source: created,
      probe,
      stop: () => {
        abort.abort();
        return ended;
      },
    };
    running.push(each);
    return each;
  }

  const next = (): Promise<SeenRequest> => server.requests.nextEvent("a request");

  it("polls, sends the ETag of what it holds, and delivers what is new over one connection", async () => {
    server.answer = document(one);
    const { source, probe } = run();
    expect((await next()).headers).to.include({ accept: "application/json, application/yaml" });
    expect(await probe.nextDocument()).to.equal(one);
    expect(source.status()).to.include({ state: "connected", uri: `${origin}/flags` });
    const again = await next();
    expect(again.headers["if-none-match"]).to.match(/^"/);
    server.answer = document(two);
    expect(await probe.nextDocument()).to.equal(two);
    expect(probe.deliveries.size).to.equal(0);
    expect(server.connections).to.equal(1);
  });

  it("sends Last-Modified back, and reads no document twice where the server has no validators", async () => {
    server.answer = (_request, response) =>
      void response.writeHead(200, { "last-modified": "Wed, 21 Oct 2015 07:28:00 GMT" }).end(one);
    const { probe } = run();
    await next();
    expect(await probe.nextDocument()).to.equal(one);
    expect((await next()).headers["if-modified-since"]).to.equal("Wed, 21 Oct 2015 07:28:00 GMT");
    server.answer = (_request, response) => void response.writeHead(200).end(one);
    await next();
    await next();
    expect(probe.deliveries.size).to.equal(0);
  });

  it("asks again for a document that there was no descriptor left to read by", async () => {
    let isShort = true;
    const probe = new SourceProbe(clock, undefined, {
      // In place of the code for YAML, which is loaded when the first is read.
      set manifests(_none: undefined) {
        if (isShort) throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
      },
    });
    server.answer = document(one);
    run({}, probe);
    await probe.failure("unavailable");
    isShort = false;
    expect(await probe.nextDocument()).to.equal(one);
    expect(new Set(probe.failures)).to.deep.equal(new Set(["unavailable"]));
  });

  it("asks without conditions after one was refused, and never with one of kilobytes", async () => {
    let text = one;
    const answerWith =
      (etag: string): typeof server.answer =>
      ({ headers }, response) => {
        if (headers["if-none-match"] === undefined) response.writeHead(200, { etag }).end(text);
        else response.writeHead(412).end();
      };
    server.answer = answerWith('"1"');
    const { probe } = run();
    expect(await probe.nextDocument()).to.equal(one);
    await probe.failure("client_error");
    text = two;
    expect(await probe.nextDocument()).to.equal(two);
    await probe.failure("client_error");
    server.answer = answerWith(`"${"x".repeat(14_000)}"`);
    text = one;
    expect(await probe.nextDocument()).to.equal(one);
    const before = probe.failures.length;
    while (server.requests.size > 0) await next();
    expect((await next()).headers).not.to.have.property("if-none-match");
    expect((await next()).headers).not.to.have.property("if-none-match");
    expect(probe.failures).to.have.length(before);
  });

  it("does not take 304 for an answer where it named no version", async () => {
    server.answer = (_request, response) => void response.writeHead(200).end(one);
    const { probe } = run();
    expect(await probe.nextDocument()).to.equal(one);
    server.answer = (_request, response) => void response.writeHead(304).end();
    await probe.failure("unexpected_status");
  });

  it("reads YAML by the extension, else by the media type", async () => {
    const yaml = "flags:\n  one:\n    state: ENABLED\n";
    const json = '{"flags":{"one":{"state":"ENABLED"}}}';
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "text/plain" }).end(yaml);
    expect(await run({ uri: `${origin}/flags.yaml?x=1` }).probe.nextDocument()).to.equal(json);
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "application/x-yaml; charset=utf-8" }).end(yaml);
    expect(await run().probe.nextDocument()).to.equal(json);
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "application/yaml" }).end(one);
    expect(await run({ uri: `${origin}/flags.json` }).probe.nextDocument()).to.equal(one);
  });

  it("sends authHeader, bearerToken and headers", async () => {
    server.answer = document(one);
    run({ authHeader: "Basic dXNlcjpwYXNz", headers: { "X-Tenant": "shop" } });
    expect((await next()).headers).to.include({ authorization: "Basic dXNlcjpwYXNz", "x-tenant": "shop" });
    run({ bearerToken: "secret" });
    await eventually(
      async () => (await next()).headers.authorization === "Bearer secret",
      "the bearer token",
    );
  });

  it("authenticates as the user of the URI, and does not show the password", async () => {
    server.answer = document(one);
    const { source, probe } = run({ uri: `${origin.replace("//", "//me:secret@")}/flags` });
    expect((await next()).headers.authorization).to.equal(
      `Basic ${Buffer.from("me:secret").toString("base64")}`,
    );
    await probe.nextDocument();
    expect(source.status().uri).to.equal(`${origin}/flags`);
  });

  const refusals: readonly [status: number, reason: string][] = [
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "missing"],
    [429, "throttled"],
    [418, "client_error"],
    [503, "server_error"],
    [304, "unexpected_status"],
    [206, "unexpected_status"],
  ];
  for (const [status, reason] of refusals) {
    it(`goes on after ${status}`, async () => {
      server.answer = (_request, response) => void response.writeHead(status).end("no");
      const { source, probe } = run();
      await probe.failure(reason);
      expect(source.status().error).to.contain(`answered ${status}`);
      server.answer = document(one);
      expect(await probe.nextDocument()).to.equal(one);
      expect(source.status()).to.include({ state: "connected", error: undefined });
    });
  }

  for (const [says, waitMs] of [
    ["30", 30_000],
    ["3600", 60_000],
  ] as const)
    it(`waits for as long as Retry-After says, a minute at the most (${says} s)`, async () => {
      server.answer = (_request, response) => void response.writeHead(503, { "retry-after": says }).end();
      const still = new ManualClock();
      const { probe } = run({}, new SourceProbe(still));
      await probe.failure("server_error");
      await next();
      await eventually(() => still.pendingTimers === 1, "the wait");
      still.advance(waitMs - 1);
      expect(still.pendingTimers, "no timer has fired").to.equal(1);
      still.advance(1);
      await next();
    });

  it("follows redirects, and sends secrets to the first origin only", async () => {
    server.answer = ({ path: at }, response) =>
      void response.writeHead(302, { location: at === "/flags" ? "/moved" : `${other.origin}/there` }).end();
    other.answer = document(one);
    const { probe } = run({ bearerToken: "secret", headers: { "x-key": "k" } });
    expect(await probe.nextDocument()).to.equal(one);
    expect((await next()).path).to.equal("/flags");
    expect((await next()).headers).to.include({ authorization: "Bearer secret", "x-key": "k" });
    const { headers, path: at } = await other.requests.nextEvent("the redirected request");
    expect(at).to.equal("/there");
    expect(headers).not.to.have.any.keys("authorization", "x-key");
  });

  it("does not follow redirects in circles, nor to other protocols", async () => {
    server.answer = (_request, response) => void response.writeHead(307, { location: "/flags" }).end();
    const { source, probe } = run();
    await probe.failure("redirect");
    expect(source.status().error).to.contain("redirects more than 10 times");
    server.answer = (_request, response) =>
      void response.writeHead(301, { location: "file:///etc/passwd" }).end();
    await eventually(() => source.status().error?.includes("redirects to file:") === true, "the refusal");
  });

  it("says that a user in a URL can't be read, be it of the source or of a redirect", async () => {
    const withUser = `${origin.replace("//", "//me:100%@")}/flags`;
    const { source, probe } = run({ uri: withUser });
    await probe.failure("redirect");
    expect(source.status().error).to.contain('has a "%" that begins no escape');
    server.answer = (_request, response) => void response.writeHead(302, { location: withUser }).end();
    await run().probe.failure("redirect");
  });

  it("refuses a body that is too large, announced or not, before it is whole", async () => {
    const probe = new SourceProbe(clock, 1_000);
    server.answer = (_request, response) =>
      void response.writeHead(200, { "content-length": "1001" }).write("x");
    const { source } = run({}, probe);
    await probe.failure("too_large");
    expect(source.status().error).to.contain("1001 bytes");
    server.answer = (_request, response) => {
      response.writeHead(200);
      const write = (): boolean => response.write("x".repeat(600));
      write();
      const timer = setInterval(write, 5);
      response.once("close", () => clearInterval(timer));
    };
    await eventually(() => source.status().error?.includes("has more") === true, "the refusal");
    server.answer = document(one);
    expect(await probe.nextDocument()).to.equal(one);
  });

  it("gives up a server that sends answers 1xx without end, and headers without end", async () => {
    const floods: readonly (readonly [reason: string, head: string, more: string, error: string])[] = [
      ["unexpected_status", "", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100), "16 answers 1xx"],
      ["unreachable", "HTTP/1.1 200 OK\r\n", `x: ${"y".repeat(8_000)}\r\n`, "Header overflow"],
    ];
    for (const [reason, head, more, error] of floods) {
      server.answer = (_request, { socket }) => {
        socket?.write(head);
        const timer = setInterval(() => socket?.write(more), 5);
        socket?.once("close", () => clearInterval(timer));
      };
      const { source, probe, stop } = run();
      await probe.failure(reason);
      expect(source.status().error).to.contain(error);
      server.answer = document(one);
      expect(await probe.nextDocument()).to.equal(one);
      await stop();
    }
  });

  it("gives a slow answer up after timeoutS, be it the head or the body", async () => {
    server.answer = () => undefined;
    const { source, probe } = run({ timeoutS: 1 });
    await probe.failure("timeout");
    server.answer = (_request, response) => void response.writeHead(200).write("{");
    await eventually(() => probe.failures.filter((reason) => reason === "timeout").length >= 2, "the next");
    expect(source.status().error).to.contain(
      `no complete answer of ${new URL(origin).host} within the "timeoutS" of 1 s`,
    );
    server.answer = document(one);
    expect(await probe.nextDocument()).to.equal(one);
  });

  it("reports what is no flag document, and does not deliver it again", async () => {
    server.answer = document("<html>sign in</html>", { "content-type": "text/html" });
    const probe = new SourceProbe(clock);
    probe.isAccepting = false;
    const { source } = run({}, probe);
    await probe.nextDocument();
    await probe.failure("refused");
    await next();
    await next();
    expect(probe.deliveries.size).to.equal(0);
    expect(source.status()).to.include({ state: "connected", lastUpdate: undefined });
    expect(source.status().warning).to.contain("its newest document is refused: refused by the test");
    probe.isAccepting = true;
    server.answer = document(one);
    expect(await probe.nextDocument()).to.equal(one);
    await eventually(() => source.status().warning === undefined, "it is served");
  });

  it("reads a document again that was refused, when the server calls the same bytes YAML", async () => {
    const yaml = "flags: {a: {}}\n";
    server.answer = document(yaml, { "content-type": "text/plain" });
    const probe = new SourceProbe(clock);
    probe.isAccepting = false;
    const { source } = run({}, probe);
    expect(await probe.nextDocument()).to.equal(yaml);
    await probe.failure("refused");
    probe.isAccepting = true;
    server.answer = document(yaml, { "content-type": "application/yaml" });
    expect(await probe.nextDocument()).to.equal('{"flags":{"a":{}}}');
    await eventually(() => source.status().warning === undefined, "it is served");
  });

  it("reads what a store holds as gzip, and no more of it than there is memory for", async () => {
    const answer = (body: Buffer): Answer => {
      return (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(body);
    };
    server.answer = answer(gzipSync(one));
    const { source, probe } = run();
    expect(await probe.nextDocument()).to.equal(one);
    server.answer = answer(gzipSync(Buffer.alloc(1_000_001, " ")));
    await probe.failure("too_large");
    server.answer = answer(gzipSync(two).subarray(0, 40));
    await probe.failure("encoding");
    expect(source.status().error).to.contain("as gzip that can't be unpacked");
    server.answer = answer(gzipSync(two));
    expect(await probe.nextDocument()).to.equal(two);
  });

  it("says what to do where a server takes no TLS, or nothing listens", async () => {
    const secure = run({ uri: `${origin.replace("http:", "https:")}/flags` });
    await secure.probe.failure("unreachable");
    expect(secure.probe.logs.map(({ advice }) => advice)).to.include(
      "it closes connections with TLS: it may serve plaintext on this port",
    );
    const nobody = new HttpServer();
    const uri = await nobody.start();
    await nobody.stop();
    const refused = run({ uri });
    await refused.probe.failure("unreachable");
    expect(refused.probe.logs.map(({ advice }) => advice)).to.include(
      "nothing listens there: check the address, and that the server is up",
    );
  });

  it("keeps what a manifest said before it was broken, also when it is begun anew", async () => {
    const manifest = (name: string, spec: string): string =>
      `apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
    const spec = (name: string): string => `{flagSpec: {flags: {${name}: {state: A}}}}`;
    const serve = (b: string, c: string): void => {
      const text = [manifest("b", b), manifest("c", spec(c))].join("---\n");
      server.answer = document(text, { "content-type": "application/yaml" });
    };
    serve(spec("b"), "c");
    const { source, probe } = run();
    expect(await probe.nextDocument()).to.contain('"b"');
    serve("none", "c2");
    expect(await probe.nextDocument())
      .to.contain('"b"')
      .and.contain('"c2"');
    source.askAgain();
    expect(await probe.nextDocument())
      .to.contain('"b"')
      .and.contain('"c2"');
    // As it is when the list of an agent's sources changes.
    const [config] = configs;
    if (config === undefined) throw new Error("no source was made");
    const after = new SourceProbe(clock, undefined, probe.memory);
    expect(await run({}, after, { ...config, sourceIndex: 7 }).probe.nextDocument())
      .to.contain('"b"')
      .and.contain('"c2"');
  });

  it("reports YAML that can't be read, an empty body, and one compressed otherwise", async () => {
    const answers: readonly [reason: string, status: string, body: string | Buffer, headers: object][] = [
      ["refused", "newest document is refused", "flags: [", { "content-type": "application/yaml" }],
      ["empty", "with an empty body", "", {}],
      ["encoding", "as br, which", brotliCompressSync(one), { "content-encoding": "br" }],
    ];
    for (const [reason, text, body, headers] of answers) {
      server.answer = (_request, response) => void response.writeHead(200, { ...headers }).end(body);
      const { source, probe, stop } = run();
      await probe.failure(reason);
      const { error, warning } = source.status();
      expect(error ?? warning).to.contain(text);
      await stop();
    }
  });

  it("survives broken connections, between requests and within a body", async () => {
    server.answer = document(one);
    const { source, probe } = run();
    expect(await probe.nextDocument()).to.equal(one);
    server.cut();
    server.answer = document(two);
    expect(await probe.nextDocument()).to.equal(two);
    server.answer = (_request, response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{");
      setImmediate(() => response.destroy());
    };
    await probe.failure("unreachable");
    expect(source.status()).to.include({ state: "disconnected" });
  });

  it("says that nothing listens", async () => {
    const gone = new HttpServer();
    const uri = `${await gone.start()}/flags`;
    await gone.stop();
    const { source, probe } = run({ uri });
    await probe.failure("unreachable");
    expect(source.status().error).to.match(/127\.0\.0\.1:\d+ can't be reached: .*ECONNREFUSED/);
  });

  it("trusts the authorities in certPath, and no others", async () => {
    const secure = new HttpServer(true);
    try {
      const uri = `${await secure.start()}/flags`;
      secure.answer = document(one);
      const distrusting = run({ uri });
      await distrusting.probe.failure("unreachable");
      expect(distrusting.source.status().error).to.match(/certificate/);
      expect(await run({ uri, certPath: testTls.caFile }).probe.nextDocument()).to.equal(one);
      const without = run({ uri, certPath: "/nowhere/ca.crt" });
      await without.probe.failure("certificate");
      for (const each of running) await each.stop();
    } finally {
      await secure.stop();
    }
  });

  describe("with the token of a file", () => {
    let directory: TempDirectory;
    beforeEach(() => {
      directory = new TempDirectory();
      server.answer = (request, response) => {
        if (request.headers.authorization === "Bearer t-1") document(one)(request, response);
        else response.writeHead(401).end();
      };
    });
    afterEach(() => directory.remove());

    const write = (name: string, text: string): void => writeFileSync(path.join(directory.path, name), text);
    const bound = (): object => ({
      tokenFile: path.join(directory.path, "token"),
      tokenHostsFile: path.join(directory.path, "hosts"),
    });

    it("sends it to the servers that its owner names, reads it for each request, and asks once where it is refused", async () => {
      write("token", "t-0\n");
      write("hosts", `flags.example.com ${origin}`);
      const { probe, source } = run(bound());
      expect((await next()).headers.authorization).to.equal("Bearer t-0");
      await probe.failure("unauthorized");
      expect(source.status().error).to.match(/answered 401: check .*"tokenFile"/);
      expect(server.requests.size).to.equal(0);
      write("token", "t-1\n");
      expect(await probe.nextDocument()).to.equal(one);
    });

    it("asks no server that its owner does not name", async () => {
      write("token", "t-1");
      const { probe, source } = run(bound());
      await probe.failure("credentials");
      expect(source.status().error).to.match(/hosts, which has to name its host, can't be read/);
      write("hosts", origin.replace("http://", "https://"));
      await eventually(() => source.status().error?.includes("does not name it") === true, "another host");
      expect(server.requests.size).to.equal(0);
      write("hosts", origin);
      expect(await probe.nextDocument()).to.equal(one);
    });

    it("is not sent in plaintext, unless its owner or an option says so", () => {
      const parsed = (fields: object, tokenOverPlaintext = false): readonly [unknown, readonly string[]] => {
        const warnings: string[] = [];
        const source = { uri: "http://flags.test/f", provider: "http", tokenFile: "/t", ...fields };
        const credentials = { ...noSharedCredentials, tokenOverPlaintext };
        const texts = { uris: [], sources: JSON.stringify([source]), credentials };
        const [config] = parseSources(texts, (warning) => warnings.push(warning));
        if (config?.provider !== "http") throw new Error("expected a source of provider http");
        return [config.tokenFile, warnings];
      };
      const [sent, [warning]] = parsed({});
      expect(sent).to.equal("");
      expect(warning).to.match(/in plaintext, so the token of \/t is not sent: write https:\/\//);
      expect(parsed({}, true)).to.deep.equal(["/t", []]);
      expect(parsed({ uri: "https://flags.test/f" })).to.deep.equal(["/t", []]);
      expect(parsed({ tokenHostsFile: "/hosts" })).to.deep.equal(["/t", []]);
      expect(parsed({ uri: "https://flags.test/f", authHeader: "a" })).to.deep.equal([
        "",
        ['source 1 of --sources: "tokenFile" has no effect beside "authHeader"'],
      ]);
      expect(() => parsed({ tokenFile: "", tokenHostsFile: "/hosts" })).to.throw(
        /"tokenHostsFile" says for whom a "tokenFile" is, and there is none/,
      );
    });
  });

  describe("with oauth", () => {
    let directory: TempDirectory;
    beforeEach(() => (directory = new TempDirectory()));
    afterEach(() => directory.remove());

    /** The tokens that were given out, in order. */
    let given: string[];
    /** Who may have a token: id and secret. */
    let known: string;
    let expiresIn: number | undefined;
    /** Whether the token server wants the credentials in the body. */
    let wantsBody: boolean;
    beforeEach(() => {
      [given, known, expiresIn, wantsBody] = [[], "me:s&cret", undefined, false];
      other.answer = ({ headers, body }, response) => {
        const form = new URLSearchParams(body);
        const basic = Buffer.from(headers.authorization?.slice(6) ?? "", "base64").toString();
        const fromBasic = basic
          .split(":")
          .map((part) => decodeURIComponent(part))
          .join(":");
        const pair = wantsBody ? `${form.get("client_id")}:${form.get("client_secret")}` : fromBasic;
        if (pair !== known || form.get("grant_type") !== "client_credentials") {
          response.writeHead(401).end('{"error":"invalid_client"}');
          return;
        }
        given.push(`token-${given.length}`);
        const token = { access_token: given.at(-1), token_type: "bearer", expires_in: expiresIn };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(token));
      };
      server.answer = (request, response) => {
        if (request.headers.authorization === `Bearer ${given.at(-1)}`) document(one)(request, response);
        else response.writeHead(401).end();
      };
    });

    const oauth = (fields: object = {}): object => ({
      oauth: { clientID: "me", clientSecret: "s&cret", tokenURL: `${other.origin}/token`, ...fields },
    });

    for (const isInBody of [false, true]) {
      it(`requests a token with the credentials in the ${isInBody ? "body" : "header"}, and uses it for all polls`, async () => {
        wantsBody = isInBody;
        const { probe } = run(oauth());
        expect(await probe.nextDocument()).to.equal(one);
        await next();
        await next();
        await next();
        expect(given).to.have.length(1);
      });
    }

    it("requests another token when one is refused, and before one expires", async () => {
      expiresIn = 3_600;
      const { probe } = run(oauth());
      await probe.nextDocument();
      given.push("revoked");
      await eventually(() => given.length === 3, "another token");
      expiresIn = 1;
      given.push("revoked");
      await eventually(() => given.length >= 7, "a token a second");
    });

    it("reads the credentials from a folder, again when they are refused", async () => {
      const folder = path.join(directory.path, "secret");
      mkdirSync(folder);
      const write = (secret: string): void =>
        writeFileSync(path.join(folder, "client-secret"), `${secret}\n`);
      const { source, probe } = run(oauth({ folder }));
      await probe.failure("credentials");
      expect(source.status().error).to.contain("client-id");
      writeFileSync(path.join(folder, "client-id"), "me\n");
      write("wrong");
      await probe.failure("token");
      expect(source.status().error).to.contain("answered 401");
      write("s&cret");
      expect(await probe.nextDocument()).to.equal(one);
      known = "me:next";
      write("next");
      given.push("revoked");
      await eventually(() => given.length === 3, "a token by the new secret");
    });

    it("reads the folder every reloadDelayS, and requests a token when the credentials have changed", async () => {
      writeFileSync(path.join(directory.path, "client-id"), "me");
      writeFileSync(path.join(directory.path, "client-secret"), "s&cret");
      const { probe } = run(oauth({ folder: directory.path, ReloadDelayS: 1 }));
      await probe.nextDocument();
      await next();
      await next();
      await next();
      expect(given).to.have.length(1);
      known = "me:next";
      writeFileSync(path.join(directory.path, "client-secret"), "next");
      await eventually(() => given.length === 2, "a token by the new secret");
    });

    it("goes on with a token that is valid while the credentials can't be read", async () => {
      writeFileSync(path.join(directory.path, "client-id"), "me");
      writeFileSync(path.join(directory.path, "client-secret"), "s&cret");
      const { source, probe } = run(oauth({ folder: directory.path, ReloadDelayS: 1 }));
      await probe.nextDocument();
      rmSync(path.join(directory.path, "client-secret"));
      await next();
      await next();
      await next();
      expect(source.status().error).to.equal(undefined);
      expect(given).to.have.length(1);
      given.push("revoked");
      await probe.failure("credentials");
    });

    const useless: readonly [name: string, body: string][] = [
      ["a page", "<html>"],
      ["null", "null"],
      ["no token", "{}"],
      ["a token with a line break", '{"access_token":"a\\nb"}'],
      ["a token that is a number", '{"access_token":1}'],
    ];
    for (const [name, body] of useless) {
      it(`reports ${name} in place of a token`, async () => {
        other.answer = (_request, response) => void response.writeHead(200).end(body);
        const { source, probe } = run(oauth());
        await probe.failure("token");
        expect(source.status().error).to.contain('without a usable "access_token"');
      });
    }
  });
});
