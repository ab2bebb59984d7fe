import { request as requestPlain, type IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as requestTls } from "node:https";
import type { Readable } from "node:stream";
import { expect } from "chai";
import { Authority, type CertificatePair } from "../support/certificates.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What a proxy adds that forwards a request over loopback: for the status, such a request comes from elsewhere. */
const forwarded = { "x-forwarded-for": "10.0.0.7" };

const sentence =
  'this proxy serves known callers only; present a projected ServiceAccount token with the audience bunting as "authorization: Bearer"';

describe("the management port with --management-auth", () => {
  const issuer = new TokenIssuer();
  let directory: TempDirectory;
  let flags: TempDirectory;
  let authority: Authority;
  let prometheus: CertificatePair;
  let proxy: ProxyProcess;
  let bearer: { readonly authorization: string };

  before(async () => {
    directory = new TempDirectory();
    flags = new TempDirectory();
    authority = await Authority.create();
    const { cert, key } = await authority.issue();
    prometheus = await authority.issue({ uris: ["spiffe://cluster.local/ns/monitoring/sa/prometheus"] });
    const files = { "tls.crt": cert, "tls.key": key, "ca.crt": authority.cert, "jwks.json": issuer.keySet };
    for (const [name, content] of Object.entries(files)) directory.replace(name, content);
    const token = issuer.issue("monitoring", "prometheus");
    directory.replace("token", token);
    bearer = { authorization: `Bearer ${token}` };
    flags.replace("a.yaml", manifest("a", 1));
    proxy = await startProxy(flags.path, [
      "--host=0.0.0.0",
      ...["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks.json")],
      ...["--management-auth=identity", "--status=all", "--management-tls=both", "--tls-client-auth=request"],
      ...["--tls-cert-path", directory.file("tls.crt"), "--tls-key-path", directory.file("tls.key")],
      ...["--tls-client-ca-path", directory.file("ca.crt"), "--drain-delay=0", "--drain-window=0"],
    ]);
  });

  after(async () => {
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
    flags.remove();
  });

  const port = (): number => Number(new URL(proxy.management).port);

  function ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method = "GET",
    client?: Partial<CertificatePair>,
  ): Promise<Answer> {
    const options = { host: "127.0.0.1", port: port(), path, method, headers, agent: false };
    return new Promise((resolve, reject) => {
      const call =
        client === undefined
          ? requestPlain(options)
          : requestTls({ ...options, ca: authority.cert, ...client });
      call.on("error", reject).on("response", (response) => {
        const { statusCode: status = 0, headers: received } = response;
        textOf(response).then((text) => resolve({ status, headers: received, text }), reject);
      });
      call.end();
    });
  }

  /** As Prometheus asks by default where the port speaks TLS. */
  async function askHttp2(
    path: string,
    headers: Readonly<Record<string, string>>,
    client: Partial<CertificatePair> = {},
  ): Promise<Pick<Answer, "status" | "text">> {
    const session = connectHttp2(`https://127.0.0.1:${port()}`, { ca: authority.cert, ...client });
    try {
      const stream = session.request({ ":path": path, ...headers });
      const status = await new Promise<number>((resolve, reject) => {
        stream.on("response", (received) => resolve(Number(received[":status"])));
        for (const each of [session, stream]) each.on("error", reject);
      });
      return { status, text: await textOf(stream) };
    } finally {
      session.destroy();
    }
  }

  async function textOf(stream: Readable): Promise<string> {
    let text = "";
    for await (const chunk of stream) text += String(chunk);
    return text;
  }

  it("serves /metrics to callers with a token, and tells others what to present", async () => {
    const refused = await ask("/metrics");
    expect(refused.status).to.equal(401);
    expect(refused.headers["www-authenticate"]).to.equal('Bearer realm="bunting"');
    expect(refused.text).to.equal(`${sentence}.\n`);
    const wrong = await ask("/metrics", { authorization: "Bearer a.b.c" });
    expect(wrong.status).to.equal(401);
    const { status, text } = await ask("/metrics", bearer);
    expect(status).to.equal(200);
    expect(text).to.contain(
      '\nbunting_proxy_access_refused_identities_total{reason="credentials_missing"} 1\n',
    );
    expect(text).not.to.contain("a.b.c");
    expect(await ask("/metrics", {}, "HEAD")).to.include({ status: 401, text: "" });
    expect((await ask("/metrics", bearer, "HEAD")).status).to.equal(200);
    expect((await ask("/metrics", bearer, "POST")).status).to.equal(405);
    expect(proxy.process.output).not.to.contain(bearer.authorization.slice(7, 40));
    await proxy.process.nextLog(`refused a caller: ${sentence}`);
  });

  it("finds no other way to /metrics", async () => {
    for (const path of ["/metrics?x", "/metrics?token=x"])
      expect((await ask(path)).status, path).to.equal(401);
    for (const path of ["/metrics/", "//metrics", "/./metrics", "/x/../metrics", "/%6detrics", "/METRICS"])
      expect((await ask(path)).status, path).to.be.oneOf([307, 404]);
  });

  it("serves /metrics to callers with a client certificate, over HTTP/1.1 and HTTP/2", async () => {
    expect((await ask("/metrics", {}, "GET", prometheus)).status).to.equal(200);
    expect((await askHttp2("/metrics", {}, prometheus)).status).to.equal(200);
    expect((await askHttp2("/metrics", bearer)).status).to.equal(200);
    const nameless = await authority.issue();
    expect((await ask("/metrics", {}, "GET", nameless)).status).to.equal(401);
    expect((await askHttp2("/metrics", {}, nameless)).status).to.equal(401);
    const both = { authorization: "Bearer a.b.c" };
    expect((await ask("/metrics", both, "GET", prometheus)).status, "a wrong token").to.equal(401);
  });

  it("answers probes of everyone", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      await eventually(async () => (await ask(path)).status === 200, path);
      expect((await ask(path, { ...forwarded, authorization: "Basic eA==" }, "GET", {})).status).to.equal(
        200,
      );
    }
  });

  for (const [form, accept] of [
    ["JSON", "application/json"],
    ["the page", "text/html"],
    ["events", "text/event-stream"],
  ] as const)
    it(`serves /status as ${form} on loopback to everyone, and from elsewhere to callers with an identity`, async () => {
      const head = accept === "text/event-stream" ? "HEAD" : "GET";
      expect((await ask("/status", { accept }, head)).status).to.equal(200);
      const refused = await ask("/status", { accept, ...forwarded });
      expect(refused.status).to.equal(401);
      expect(refused.text).to.contain("present a projected ServiceAccount token");
      const served = await ask("/status", { accept, ...forwarded, ...bearer }, head);
      expect(served.status).to.equal(200);
      expect(served.headers["content-type"]).to.contain(accept);
    });

  it("is asked by the command `bunting status` with a token file", async () => {
    // The address from which Istio's sidecars forward, which does not count as loopback.
    const command = ["status", "--json", "--address", `127.0.0.6:${port()}`];
    const refused = await runBunting(command);
    expect(refused.code).to.equal(2);
    expect(refused.err).to.contain(`127.0.0.6:${port()} answered 401: this proxy serves known callers only`);
    const { code, out, err } = await runBunting([...command, "--token-file", directory.file("token")]);
    expect(code, err).to.equal(0);
    expect(JSON.parse(out)).to.have.nested.property("proxies[0].status.isReady", true);
  });
});
