import { createServer } from "node:http";
import path from "node:path";
import { evaluationV2 as v2 } from "@bunting/protocol";
import { expect } from "chai";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { startChromium } from "../support/chromium.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What runs in the page. Messages go in and out as lists of bytes. */
const script = `
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web";

const method = (path, type) =>
  new MethodDescriptor(path, type, Array, Array, (bytes) => new Uint8Array(bytes), (bytes) => Array.from(bytes));

window.call = (base, path, request) =>
  new Promise((resolve) => {
    const client = new GrpcWebClientBase({ format: "text" });
    client.rpcCall(base + path, request, {}, method(path, MethodType.UNARY), (error, response) =>
      resolve(error ? { code: error.code, message: error.message } : { response }));
  });

window.messages = [];
window.end = undefined;
window.follow = (base, path, request) => {
  const client = new GrpcWebClientBase({ format: "text" });
  const stream = client.serverStreaming(base + path, request, {}, method(path, MethodType.SERVER_STREAMING));
  stream.on("data", (message) => window.messages.push(message));
  stream.on("error", (error) => (window.end = { code: error.code, message: error.message }));
};
`;

const service = "/flagd.evaluation.v2.Service";

function flagFile(colour: string): string {
  const variants = { red: "red", blue: "blué" };
  return JSON.stringify({ flags: { colour: { state: "ENABLED", variants, defaultVariant: colour } } });
}

interface Outcome {
  readonly response?: readonly number[];
  readonly code?: number;
  readonly message?: string;
}

/** A page of another origin, so that the browser sends preflights and checks what CORS headers allow. */
describe("grpc-web from npm, in its text form, in Chromium", () => {
  const directory = new TempDirectory();
  const server = createServer();
  let agent: AgentProcess | undefined;
  let browser: Browser | undefined;

  before(async function () {
    directory.replace("flags.json", flagFile("red"));
    browser = await startChromium();
    if (browser === undefined) this.skip();
    const bundle = await build({
      stdin: { contents: script, resolveDir: path.dirname(import.meta.dirname) },
      bundle: true,
      format: "iife",
      platform: "browser",
      write: false,
    });
    const text = bundle.outputFiles[0]?.text ?? "";
    server.on("request", ({ url }, response) => {
      const isScript = url === "/page.js";
      response.setHeader("content-type", isScript ? "text/javascript; charset=utf-8" : "text/html");
      response.end(isScript ? text : '<!doctype html><script src="/page.js"></script>');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    agent = await startAgent(["--uri", `file:${directory.file("flags.json")}`]);
  });
  after(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    await agent?.process.stop();
    directory.remove();
  });

  it("resolves flags, reads errors, follows EventStream while it is open, and reads its end", async () => {
    if (agent === undefined || browser === undefined) throw new Error("nothing was started");
    const { management, evaluation, process } = agent;
    const base = `http://${evaluation}`;
    await eventually(() => isReady(management), "the agent is ready");
    const page = await browser.newPage();
    await page.goto(`http://localhost:${(server.address() as { port: number }).port}/`);
    const resolveString = async (flagKey: string): Promise<Outcome> => {
      const request = v2.ResolveStringRequest.encode({ flagKey, context: {} }).finish();
      return call(page, "call", base, `${service}/ResolveString`, Array.from(request));
    };
    const { response } = await resolveString("colour");
    expect(v2.ResolveStringResponse.decode(Uint8Array.from(response ?? [])).value).to.equal("red");
    expect(await resolveString("nowhere")).to.deep.equal({ code: 5, message: "Flag not found" });

    await call(page, "follow", base, `${service}/EventStream`, []);
    const types = async (): Promise<readonly string[]> => {
      const messages = await page.evaluate<readonly (readonly number[])[]>("window.messages");
      return messages.map((bytes) => v2.EventStreamResponse.decode(Uint8Array.from(bytes)).type);
    };
    await eventually(async () => (await types()).length === 2, "the stream has begun");
    expect(await types()).to.deep.equal(["provider_ready", "configuration_change"]);
    directory.replace("flags.json", flagFile("blue"));
    await eventually(async () => (await types()).length === 3, "the edit");
    expect((await types()).at(-1)).to.equal("configuration_change");
    const edited = await resolveString("colour");
    expect(v2.ResolveStringResponse.decode(Uint8Array.from(edited.response ?? [])).value).to.equal("blué");

    expect(await process.stop()).to.equal(0);
    await eventually(async () => (await page.evaluate("window.end")) !== undefined, "the end has come");
    expect((await types()).at(-1)).to.equal("provider_shutdown");
    expect(await page.evaluate("window.end")).to.deep.equal({
      code: 14,
      message: "the agent is shutting down",
    });
    await page.close();
  });
});

/** Calls `window[name]` of the page. */
function call<T>(page: Page, name: string, ...args: readonly unknown[]): Promise<T> {
  return page.evaluate(`window.${name}(${args.map((arg) => JSON.stringify(arg)).join()})`);
}
