import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "chai";
import { extensionRequest, proxyDeployment } from "./extension-request.fixture.js";
import { maxExtensionBytes } from "./extension-request.js";
import type { ExtensionHooks } from "./hooks.js";
import { serveExtension, type ServedExtension, type ServeOptions } from "./serve-extension.js";

describe("serveExtension", () => {
  let ending: AbortController;
  let served: ServedExtension;

  async function serve(hooks: ExtensionHooks, options: ServeOptions = {}): Promise<void> {
    ending = new AbortController();
    served = await serveExtension(hooks, { port: 0, host: "127.0.0.1", signal: ending.signal, ...options });
  }

  afterEach(async () => {
    ending.abort();
    await served.ended;
  });

  function post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return fetch(`${served.url}/any/path`, { method: "POST", body: text, headers });
  }

  it("answers requests at any path, and probes", async () => {
    await serve({ preCreate: ({ object }) => ({ ...object, spec: {} }) });
    const response = await post(extensionRequest());
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("application/json");
    expect(await response.json()).to.deep.equal({ ...proxyDeployment(), spec: {} });
    for (const probe of ["/healthz", "/readyz"])
      expect((await fetch(served.url + probe)).status, probe).to.equal(200);
    expect((await fetch(served.url)).status).to.equal(405);
  });

  it("answers 413 to a body that no operator sends, with and without its length, and ends the connection", async () => {
    await serve({ preCreate: () => expect.fail("it was asked") });
    const large = "x".repeat(maxExtensionBytes + 1);
    const response = await post(large);
    expect(response.status).to.equal(413);
    const pieces = new Blob([large]).stream();
    const chunked = await fetch(served.url, { method: "POST", body: pieces, duplex: "half" });
    expect(chunked.status).to.equal(413);
  });

  it("asks whoever decides on tokens, and answers 401 if it says no", async () => {
    const tokens: string[] = [];
    const authenticate = (token: string): Promise<boolean> => {
      tokens.push(token);
      return Promise.resolve(token === "right");
    };
    await serve({}, { authenticate });
    expect((await post(extensionRequest(), { authorization: "Bearer right" })).status).to.equal(204);
    expect((await post(extensionRequest(), { authorization: "Bearer wrong" })).status).to.equal(401);
    expect((await post(extensionRequest())).status).to.equal(401);
    expect(tokens).to.deep.equal(["right", "wrong", ""]);
  });

  it("answers 500 and goes on if a token can't be decided on", async () => {
    const errors: unknown[] = [];
    const failing = {
      authenticate: () => Promise.reject(new Error("no answer")),
      report: errors.push.bind(errors),
    };
    await serve({}, failing);
    expect((await post(extensionRequest())).status).to.equal(500);
    expect(String(errors)).to.equal("Error: no answer");
    expect((await fetch(`${served.url}/readyz`)).status).to.equal(200);
  });

  it("answers what it has taken before it ends, and takes nothing more", async () => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolveAsked) => {
      void serve({
        preCreate: () =>
          new Promise((resolve) => {
            answer = () => {
              resolve(undefined);
            };
            resolveAsked();
          }),
      }).then(() =>
        post(extensionRequest()).then((response) =>
          responses.push(response.status, response.headers.get("connection")),
        ),
      );
    });
    const responses: unknown[] = [];
    await asked;
    ending.abort();
    answer();
    await served.ended;
    const { port } = new URL(served.url);
    const [error] = (await once(connect(Number(port), "127.0.0.1"), "error")) as [NodeJS.ErrnoException];
    expect(error.code).to.equal("ECONNREFUSED");
    expect(responses).to.deep.equal([204, "close"]);
  });

  it("ends although somebody has connected who says nothing", async () => {
    await serve({});
    const silent = connect(Number(new URL(served.url).port), "127.0.0.1");
    await once(silent, "connect");
    // Accepted after the one before.
    await fetch(`${served.url}/readyz`);
    ending.abort();
    await served.ended;
    silent.destroy();
  });

  it("says why it does not listen", async () => {
    await serve({});
    const port = Number(new URL(served.url).port);
    const error = await serveExtension({}, { port, host: "127.0.0.1" }).catch((reason: unknown) => reason);
    expect(error).to.have.property("code", "EADDRINUSE");
  });
});
