import { expect } from "chai";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server } from "node:http";
import { createConnection, type AddressInfo } from "node:net";
import { managementHandler } from "./management-handler.js";
import { Counter, createRegistry, Gauge } from "./metrics.js";

describe("managementHandler", () => {
  let server: Server;
  let base: string;
  let readiness = { isReady: false, reason: "the source has not synced" };

  beforeEach(async () => {
    const registry = createRegistry(false);
    new Counter({ name: "demo_total", help: "A demo.", registers: [registry] }).inc(3);
    server = createServer(managementHandler(() => readiness, registry));
    // fetch loses the rest of an answer that it is slow to read, once the server ends the idle connection: undici, 5 s on a busy machine.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("is alive, and answers readiness with 412 and the reason until ready", async () => {
    expect((await fetch(`${base}/healthz`)).status).to.equal(200);
    const notYet = await fetch(`${base}/readyz`);
    expect([notYet.status, await notYet.text()]).to.deep.equal([412, "the source has not synced\n"]);
    readiness = { isReady: true, reason: "ready" };
    expect((await fetch(`${base}/readyz?verbose`)).status).to.equal(200);
  });

  it("answers /healthz with 412 and the reason while the program still starts, if it says so", async () => {
    let reason: string | undefined = "waiting for flags";
    const registry = createRegistry(false);
    const handler = managementHandler(() => readiness, registry, { notStarted: () => reason });
    server.removeAllListeners("request").on("request", handler);
    const early = await fetch(`${base}/healthz`);
    expect([early.status, await early.text()]).to.deep.equal([412, "waiting for flags\n"]);
    reason = undefined;
    const later = await fetch(`${base}/healthz`);
    expect([later.status, await later.text()]).to.deep.equal([200, "ok\n"]);
  });

  it("serves metrics as Prometheus reads them", async () => {
    const response = await fetch(`${base}/metrics`);
    expect(response.headers.get("content-type")).to.contain("text/plain; version=0.0.4");
    expect(await response.text()).to.contain(
      "# HELP demo_total A demo.\n# TYPE demo_total counter\ndemo_total 3",
    );
  });

  it("makes metrics once for all requests of a turn of the event loop", async () => {
    let collected = 0;
    const registry = createRegistry(false);
    new Gauge({
      name: "demo",
      help: "A demo.",
      registers: [registry],
      collect() {
        this.set(++collected);
      },
    });
    server.removeAllListeners("request").on(
      "request",
      managementHandler(() => readiness, registry),
    );
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n".repeat(20));
    let answers = "";
    for await (const chunk of socket) {
      answers += String(chunk);
      if (answers.split("\ndemo ").length > 20) break;
    }
    expect(answers.match(/^demo .*$/gm)).to.deep.equal(Array.from({ length: 20 }, () => "demo 1"));
    expect(await (await fetch(`${base}/metrics`)).text()).to.contain("\ndemo 2\n");
  });

  it("compresses metrics for clients that accept gzip", async () => {
    const response = await fetch(`${base}/metrics`, { headers: { "accept-encoding": "deflate, gzip" } });
    expect(response.headers.get("content-encoding")).to.equal("gzip");
    expect(await response.text()).to.contain("demo_total 3");
  });

  it("compresses no metrics for clients that refuse gzip, or accept something else", async () => {
    const encodingOf = async (accepted: string): Promise<string | undefined> => {
      const asking = get(`${base}/metrics`, { headers: { "accept-encoding": accepted }, agent: false });
      const [response] = (await once(asking, "response")) as [IncomingMessage];
      response.resume();
      return response.headers["content-encoding"];
    };
    for (const accepted of [
      "gzip;q=0",
      "deflate, GZIP ; q=0.000 , br",
      "not-gzip",
      "gzipped",
      "identity",
      "",
    ])
      expect(await encodingOf(accepted), accepted).to.equal(undefined);
    for (const accepted of ["gzip", "br,gzip;q=0.5", "gzip;q=0.001", " GZIP ; q=1.0 , *;q=0"])
      expect(await encodingOf(accepted), accepted).to.equal("gzip");
  });

  it("zips metrics for all that have asked meanwhile, one after the other", async () => {
    let collected = 0;
    const registry = createRegistry(false);
    new Gauge({
      name: "demo",
      // It takes a while to zip.
      help: Array.from({ length: 500_000 }, (_, index) => index.toString(36)).join(" "),
      registers: [registry],
      collect() {
        this.set(++collected);
      },
    });
    server.removeAllListeners("request").on(
      "request",
      managementHandler(() => readiness, registry),
    );
    const ask = async (): Promise<string> => (await fetch(`${base}/metrics`)).text();
    const answers = Array.from({ length: 20 }, ask);
    for (const text of await Promise.all(answers)) expect(text).to.match(/^demo \d+$/m);
    expect(collected).to.be.below(10);
  });

  it("redirects to no other host, whatever a browser makes of backslashes", async () => {
    for (const path of ["/./\\\\evil.example", "/x/..//\\evil.example"]) {
      const [response] = (await once(
        get({ host: "127.0.0.1", port: new URL(base).port, path, agent: false }),
        "response",
      )) as [IncomingMessage];
      response.resume();
      const { location = "" } = response.headers;
      expect(new URL(location, "http://management").host, location).to.equal("management");
    }
  });

  it("answers probes of any method, and redirects to the shortest path, as flagd does", async () => {
    expect((await fetch(`${base}/healthz`, { method: "POST" })).status).to.equal(200);
    const redirected = await fetch(`${base}/healthz/..//readyz?x`, { redirect: "manual" });
    expect([redirected.status, redirected.headers.get("location")]).to.deep.equal([307, "/readyz?x"]);
  });

  it("links to the shortest path as it was asked for, without encoding it twice", async () => {
    const redirected = await fetch(`${base}//readyz?a=%22%25b`, { redirect: "manual" });
    expect(redirected.headers.get("location")).to.equal("/readyz?a=%22%25b");
    expect(await redirected.text()).to.contain('href="/readyz?a=%22%25b"');
  });

  it("refuses other paths and methods", async () => {
    expect((await fetch(`${base}/flags`)).status).to.equal(404);
    const post = await fetch(`${base}/metrics`, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
    expect(await (await fetch(`${base}/healthz`, { method: "HEAD" })).text()).to.equal("");
  });
});
