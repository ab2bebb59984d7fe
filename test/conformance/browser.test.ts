import { createServer } from "node:http";
import path from "node:path";
import { expect } from "chai";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { startChromium } from "../support/chromium.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

/** What runs in the page: `evaluations` are what the handlers of events and the test read. */
const script = `
import { FlagdWebProvider } from "@openfeature/flagd-web-provider";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";

window.start = async (way, port) => {
  await OpenFeature.setContext({ targetingKey: "é-1", email: "ada@example.com" });
  const baseUrl = "http://127.0.0.1:" + port;
  const provider = way === "flagd-web"
    ? new FlagdWebProvider({ host: "127.0.0.1", port, tls: false })
    : way === "OFREP, polling"
      ? new OFREPWebProvider({ baseUrl, pollInterval: 50, changeDetection: "polling" })
      : new OFREPWebProvider({ baseUrl, cacheMode: "disabled" });
  await OpenFeature.setProviderAndWait(way, provider);
  const client = OpenFeature.getClient(way);
  window.changes = 0;
  client.addHandler(ProviderEvents.ConfigurationChanged, () => window.changes++);
  window.resolve = (key) => client.getStringDetails(key, "default");
};
`;

function flagFile(colour: string): string {
  return JSON.stringify({
    flags: {
      colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: colour },
      targeted: {
        state: "ENABLED",
        variants: { yes: "employee", no: "guest" },
        defaultVariant: "no",
        targeting: { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "yes"] },
      },
    },
  });
}

interface Details {
  readonly value: string;
  readonly reason: string;
  readonly errorCode?: string;
}

/** Calls `window[name]` of the page. */
function call<T>(page: Page, name: string, ...args: readonly unknown[]): Promise<T> {
  return page.evaluate(`window.${name}(${args.map((arg) => JSON.stringify(arg)).join()})`);
}

/** A page of another origin, so that the browser sends preflights and checks what CORS headers allow. */
describe("the OpenFeature web providers from npm, in Chromium", () => {
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
    const uri = `file:${directory.file("flags.json")}`;
    agent = await startAgent(["--uri", uri, "--ofrep-sse-enabled"]);
  });
  after(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    const exitCode = await agent?.process.stop();
    directory.remove();
    expect(exitCode ?? 0, agent?.process.output).to.equal(0);
  });

  for (const [way, service] of [
    ["flagd-web", "evaluation"],
    ["OFREP, polling", "ofrep"],
    // Without polling: the edit comes because an event of the stream says so.
    ["OFREP, event stream", "ofrep"],
  ] as const) {
    it(`resolve flags, and receive an edit (${way})`, async () => {
      if (agent === undefined || browser === undefined) throw new Error("nothing was started");
      const { management, ports } = agent;
      directory.replace("flags.json", flagFile("red"));
      await eventually(() => isReady(management), "the agent is ready");
      const { port } = server.address() as { port: number };
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(error.message));
      const requests: string[] = [];
      page.on("request", (request) =>
        requests.push(`${request.resourceType()} ${new URL(request.url()).pathname}`),
      );
      await page.goto(`http://localhost:${port}/`);
      await call(page, "start", way, ports.get(service));
      const resolve = (key: string): Promise<Details> => call(page, "resolve", key);
      await eventually(async () => (await resolve("colour")).value === "red", "the first flags");
      expect(await resolve("targeted")).to.include({ value: "employee", reason: "TARGETING_MATCH" });
      expect((await resolve("nowhere")).errorCode).to.equal("FLAG_NOT_FOUND");

      directory.replace("flags.json", flagFile("blue"));
      await eventually(async () => (await resolve("colour")).value === "blue", "the edit");
      expect(await page.evaluate("window.changes")).to.be.above(0);
      const streams = requests.filter((request) => request.startsWith("eventsource"));
      expect(streams).to.deep.equal(way === "OFREP, event stream" ? ["eventsource /ofrep/v1/sse"] : []);
      expect(problems).to.deep.equal([]);
      await page.close();
    });
  }
});
