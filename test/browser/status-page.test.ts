import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import type { StatusReport } from "@bunting/proxy/internal/management/status-report.js";
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { AckingAgent, type AckingAgentOptions } from "../support/acking-agent.js";
import { isReady, proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { startChromium } from "../support/chromium.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { manifest } from "../support/manifests.js";
import { startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";

/**
 * With BUNTING_SCREENSHOTS=1 the tests write docs/status-page, and take more time so that there is something to see: look at the pictures
 * before they are committed.
 */
const takesScreenshots = process.env["BUNTING_SCREENSHOTS"] === "1";
const pictures = path.join(path.dirname(path.dirname(import.meta.dirname)), "docs/status-page");
/** Where a page is, according to itself. */
const replica = "flagd-proxy-6c9f7d5b4-x2lqk";
const atOnce = ["--drain-delay=0", "--drain-window=0"];

describe("the status page, in Chromium", () => {
  let browser: Browser | undefined;
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  const cleanUps: (() => unknown)[] = [];
  const problems: string[] = [];

  before(async function () {
    browser = await startChromium();
    if (browser === undefined) this.skip();
  });
  after(() => browser?.close());
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    directory.remove();
    expect(problems.splice(0)).to.deep.equal([]);
  });

  async function start(...args: readonly string[]): Promise<void> {
    proxy = await startProxy(directory.path, [...atOnce, ...args], { HOSTNAME: replica });
    const { process } = proxy;
    cleanUps.push(() => process.stop());
    await eventually(() => isReady(proxy.management), "the proxy is ready");
  }

  async function startInPod(api: FaultyApiServer, ...args: readonly string[]): Promise<void> {
    const account = directory.file("account");
    mkdirSync(account, { recursive: true });
    writeFileSync(path.join(account, "ca.crt"), api.ca);
    writeFileSync(path.join(account, "token"), "a-token");
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
      HOSTNAME: replica,
    };
    proxy = await startProxyInPod({ directory: account, environment }, [...atOnce, ...args]);
    const { process } = proxy;
    cleanUps.push(() => process.stop());
    await eventually(() => isReady(proxy.management), "the proxy is ready");
  }

  /** The page, as a browser shows it; whatever it should not do fails the test. */
  async function open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    if (browser === undefined) throw new Error("there is no browser");
    const context: BrowserContext = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    cleanUps.push(() => context.close());
    const page = await context.newPage();
    const { origin } = new URL(proxy.management);
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      // The browser's own, when the proxy is away.
      if (message.type() === "error" && !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(message.text()))
        problems.push(message.text());
    });
    page.on("dialog", (dialog) => {
      problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.origin !== origin) problems.push(`a request to ${url.origin}`);
    });
    await page.goto(`${proxy.management}/status`);
    await page.locator("#live.on").waitFor();
    return page;
  }

  /** An agent that acknowledges everything. */
  async function agent(topics: readonly string[], options: AckingAgentOptions = {}): Promise<AckingAgent> {
    const program = "bunting-agent/0.1.0";
    const started = await AckingAgent.start(Number(proxy.sync.split(":")[1]), topics, {
      program,
      ...options,
    });
    cleanUps.push(() => started.close());
    return started;
  }

  async function realAgent(topic: string): Promise<AgentProcess> {
    const started = await startAgent(proxySources(proxy.sync, topic));
    cleanUps.push(() => started.process.stop("SIGKILL"));
    await eventually(() => isReady(started.management), "the agent is ready");
    return started;
  }

  async function verdict(page: Page, expected: RegExp): Promise<void> {
    await eventually(
      async () => expected.test((await page.locator("#verdict").textContent()) ?? ""),
      `the page says ${expected.source}`,
    );
  }

  async function isShown(page: Page, selector: string, text: RegExp): Promise<void> {
    await eventually(
      async () => text.test((await page.locator(selector).allInnerTexts()).join("\n")),
      `${selector} shows ${text.source}`,
    );
  }

  async function screenshot(page: Page, name: string): Promise<void> {
    if (!takesScreenshots) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: path.join(pictures, `${name}.png`) });
  }

  /** Pairs of text and background with less contrast than WCAG's AA asks for. */
  async function poorContrasts(page: Page): Promise<string[]> {
    // What tsx wraps functions in.
    await page.evaluate("globalThis.__name ??= (value) => value");
    return page.evaluate(findPoorContrasts);
  }

  async function expectNoSidewaysScroll(page: Page): Promise<void> {
    const { wide, screen } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      screen: innerWidth,
    }));
    expect(wide, "width of the page").to.be.at.most(screen);
  }

  it("says what to do while there are no subscribers", async () => {
    await start();
    const page = await open();
    await verdict(page, /^No subscribers yet$/);
    expect(await page.locator("#verdict-detail").textContent()).to.contain("bunting-agent start");
    expect(await page.locator("#topics-body").innerText()).to.contain("No topics yet");
    expect(await page.locator("#replica").textContent()).to.equal(replica);
    await screenshot(page, "empty");
    expect(await poorContrasts(page)).to.deep.equal([]);
  });

  it("shows an edit without a reload, and who has it", async function () {
    if (takesScreenshots) this.timeout(300_000);
    const names = ["checkout", "payments", "search", "profile", "shipping"];
    const write = (name: string, version: number): void =>
      directory.replace(`${name}.yaml`, manifest("flags", version, name));
    for (const name of names) write(name, 1);
    await start();
    const real = await realAgent("checkout/flags");
    for (let index = 0; index < 40; index++) {
      const topics = names.filter((_, at) => index % (at + 1) === 0).map((name) => `${name}/flags`);
      await agent(topics, index > 36 ? { program: "bunting-agent/0.0.9" } : {});
    }
    const stock = new StockSyncClient(proxy.sync);
    cleanUps.push(() => stock.close());
    for (let index = 0; index < 6; index++) stock.subscribe({ selector: "search/flags" });
    const page = await open();
    await verdict(page, /^All 99 subscribers have the newest flags$/);
    const digest = await page.locator("tr", { hasText: "checkout/flags" }).innerText();

    write("checkout", 2);
    await eventually(
      async () => (await page.locator("tr", { hasText: "checkout/flags" }).innerText()) !== digest,
      "the edit",
    );
    await isShown(page, "tr:has-text('checkout/flags')", /the newest: 41/);
    await eventually(async () => (await page.locator("#chart .end").count()) > 0, "a line in the chart");
    await isShown(page, "#convergence-summary", /reached all of its subscribers after/);
    await isShown(page, "#figures", /bunting-agent\/0\.0\.9/);
    expect(await page.content())
      .not.to.contain("defaultVariant")
      .and.not.contain("on-off");
    for (let version = 3; takesScreenshots && version < 50; version++) {
      write(names[version % names.length] ?? "", version);
      await delay(1_500 + 1_000 * (version % 4));
    }
    await screenshot(page, "healthy");
    expect(await real.process.stop()).to.equal(0);
    expect(await poorContrasts(page)).to.deep.equal([]);
  });

  it("names the agent that is behind, and since when", async function () {
    if (takesScreenshots) this.timeout(300_000);
    for (const name of ["checkout", "payments"])
      directory.replace(`${name}.yaml`, manifest("flags", 1, name));
    await start();
    const stopped = await realAgent("checkout/flags");
    await agent(["checkout/flags", "payments/flags"]);
    const page = await open({ colorScheme: "dark" });
    await verdict(page, /^All 3 subscribers/);
    stopped.process.child.kill("SIGSTOP");
    cleanUps.push(() => stopped.process.child.kill("SIGCONT"));
    directory.replace("checkout.yaml", manifest("flags", 2, "checkout"));
    await verdict(page, /^1 of 3 subscribers is behind, for \d+ s$/);
    await isShown(
      page,
      "#late tbody",
      /127\.0\.0\.1\s+bunting-agent\/[\d.]+[^]*checkout\/flags[^]*\d s[^]*1 version missing/,
    );
    await isShown(page, "tr:has-text('checkout/flags')", /▲ 1/);
    const shownMs = async (): Promise<number> =>
      Number(/(\d+) s/.exec(await page.locator("#late tbody").innerText())?.[1]);
    const first = await shownMs();
    await eventually(async () => (await shownMs()) > first, "the time counts up");
    expect(await page.title()).to.contain("1 behind");
    if (takesScreenshots) await delay(12_000);
    await screenshot(page, "behind");
    expect(await poorContrasts(page), "dark").to.deep.equal([]);
    await page.emulateMedia({ colorScheme: "light" });
    expect(await poorContrasts(page), "light").to.deep.equal([]);
    await page.setViewportSize({ width: 320, height: 1_150 });
    await expectNoSidewaysScroll(page);
    await screenshot(page, "phone");

    stopped.process.child.kill("SIGCONT");
    await verdict(page, /^All 3 subscribers/);
    expect(await page.locator("#late").isVisible()).to.equal(false);
  });

  it("stays quick with 500 topics, of which it finds each", async () => {
    const names = Array.from({ length: 500 }, (_, index) => `team-${index % 25}/service-${index}`);
    for (const [index, topic] of names.entries()) {
      const [namespace, name = ""] = topic.split("/");
      if (index % 50 !== 7) directory.replace(`${index}.yaml`, manifest(name, 1, namespace));
    }
    await start("--max-topics-per-connection=0");
    const stock = new StockSyncClient(proxy.sync);
    cleanUps.push(() => stock.close());
    for (const selector of names) stock.subscribe({ selector });
    const page = await open();
    await isShown(page, "#filters", /all 500[^]*live 490[^]*missing 10/);
    await isShown(page, "#topics-body", /and 450 more/);
    expect(await page.locator("#topics-body tbody tr").count()).to.equal(50);
    expect(await page.locator("#topics-body tbody tr").first().innerText()).to.contain("missing");
    await page.evaluate(() => document.getElementById("topics-title")?.closest("section")?.scrollIntoView());
    await screenshot(page, "topics");

    await page.locator("#search").fill("service-321");
    await isShown(page, "#topics-body caption", /^1 topic matches/);
    expect(await page.locator("#topics-body tbody tr").innerText()).to.contain("team-21/service-321");
    await page.locator("#search").fill("no such thing");
    await isShown(page, "#topics-body .empty", /No topic has “no such thing” in its name, of 500/);
    await page.getByRole("button", { name: "Show all topics" }).click();
    await page.getByRole("button", { name: /^missing/ }).click();
    await isShown(page, "#topics-body caption", /^10 topics match/);
    await page.getByRole("button", { name: /^all/ }).click();
    await page.getByRole("button", { name: "Next" }).click();
    await isShown(page, "#pages", /51–100 of 500/);

    const [bytes, ms] = await eventBytes(proxy.management, 1);
    expect(bytes / (ms / 1_000), "bytes a second, the first view included").to.be.below(20_000);
    await page.setViewportSize({ width: 320, height: 800 });
    await expectNoSidewaysScroll(page);
    expect(await poorContrasts(page)).to.deep.equal([]);
  });

  it("shows who reads a topic by ServiceAccount, where callers have an identity", async () => {
    const issuer = new TokenIssuer();
    directory.replace("flags.yaml", manifest("flags", 1, "team-a"));
    const keys = new TempDirectory();
    cleanUps.push(() => keys.remove());
    keys.replace("jwks.json", issuer.keySet);
    await start(
      ...["--auth=optional", "--auth-issuer", issuer.name, "--auth-jwks-file", keys.file("jwks.json")],
    );
    const stock = new StockSyncClient(proxy.sync);
    cleanUps.push(() => stock.close());
    const selector = "team-a/flags";
    const long = `a-service-account-with-a-long-name${"-and-more".repeat(8)}`;
    for (const account of ["checkout", "checkout", "checkout", long])
      stock.subscribe({ selector, token: issuer.issue("team-a", account) });
    stock.subscribe({ selector });
    const page = await open();
    await verdict(page, /^All 5 subscribers/);
    await isShown(
      page,
      "tr:has-text('team-a/flags') .detail",
      new RegExp(`read by team-a/checkout \\(3\\), team-a/${long} \\(1\\), callers without identity \\(1\\)`),
    );
    expect(await poorContrasts(page)).to.deep.equal([]);
    await page.locator("#search").fill("flags");
    await isShown(page, "#topics-body caption", /^1 topic matches/);
    await isShown(page, "#topics-body tbody", /read by team-a\/checkout \(3\)/);
    await page.setViewportSize({ width: 320, height: 800 });
    await expectNoSidewaysScroll(page);
  });

  it("shows what replicas share: who is the owner, under which lease, and why Redis can't be reached", async function () {
    needsRedisServer(this);
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    const redis = await RedisServer.start();
    cleanUps.push(() => redis.stop());
    for (const name of ["checkout", "payments"]) api.put(name, "flags", { flagSpec: { flags: {} } });
    const backplane = ["--backplane", `redis://127.0.0.1:${redis.port}`];
    await startInPod(api, ...backplane);
    await agent(["checkout/flags", "payments/flags"]);
    const owner = proxy;
    const shared = async (): Promise<StatusReport["backplane"]> =>
      ((await (await fetch(`${proxy.management}/status`)).json()) as StatusReport).backplane;
    await eventually(async () => (await shared())?.lease !== undefined, "it is the owner");
    const page = await open();
    await isShown(
      page,
      "#watches",
      /live replicas\s+1\s[^]*Owner, which watches for all: lease \d+, renewed just now/,
    );

    await startInPod(api, ...backplane);
    await agent(["checkout/flags"]);
    await eventually(async () => (await shared())?.followed === 1, "the second replica follows the first");
    const second = await open();
    await isShown(second, "#watches", /live replicas\s+2\s[^]*Follows the owner, which watches for all/);

    proxy = owner;
    await redis.stop();
    await isShown(
      page,
      "#watches",
      /Redis is away: this replica watches for itself, for \d+ s: .*ECONNREFUSED/,
    );
    await isShown(page, "#watches", /topics watched for itself\s+2[^]*Alone, without an owner/);
    const away = await shared();
    expect(away).to.include({ state: "degraded" });
    expect(away?.reason).to.contain("ECONNREFUSED");
    await page.evaluate(() => document.getElementById("watches")?.scrollIntoView());
    await screenshot(page, "replicas");
    expect(await poorContrasts(page)).to.deep.equal([]);
    await page.setViewportSize({ width: 320, height: 800 });
    await expectNoSidewaysScroll(page);
  });

  it("shows the watches of a cluster, and what went wrong with them", async () => {
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    const flags = { "on-off": { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } };
    for (const name of ["checkout", "payments"]) api.put("default", name, { flagSpec: { flags } });
    await startInPod(api);
    await agent(["default/checkout", "default/payments"]);
    const page = await open();
    await verdict(page, /^All 2 subscribers/);
    await isShown(page, "#watches", /single FeatureFlags\s+2[^]*Last event: /);
    await isShown(page, "tr:has-text('default/checkout')", /generation 1, resourceVersion \d+/);
    api.setAllowed(() => false);
    api.cut();
    await isShown(page, "#watches", /error: /);
    await verdict(page, /^2 topics can't be read now$/);
    await isShown(page, "tr:has-text('default/checkout')", /▲\s*stale/);
    await screenshot(page, "stale");
    expect(await poorContrasts(page)).to.deep.equal([]);
    api.setAllowed(() => true);
    await verdict(page, /^All 2 subscribers/);
  });

  it("goes on when the proxy was restarted", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    await start();
    const page = await open();
    const port = new URL(proxy.management).port;
    await proxy.process.stop();
    await isShown(page, "#live", /^No connection to the proxy, as of \d\d:\d\d:\d\d$/);
    await start(`--management-port=${port}`);
    await agent(["default/flags"]);
    await verdict(page, /^The only subscriber has the newest flags$/);
    await isShown(page, "#live", /^Live$/);
  });

  it("shows hostile names as text", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    await start();
    const evil = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;
    await agent(["default/flags"], {
      program: `"><svg/onload=alert(3)> \u202e`,
      rejectedFlags: [{ key: evil, reason: `</style><iframe srcdoc="<script>alert(4)</script>">` }],
    });
    const page = await open();
    await isShown(
      page,
      "#topics-body",
      /the flag <img src=x onerror="alert\(1\)"><script>alert\(2\)<\/script>: <\/style><iframe/,
    );
    await isShown(page, "#figures", /"><svg\/onload=alert\(3\)>/);
    expect(
      await page.locator("main img, main iframe, main script, main svg:not(#chart svg)").count(),
    ).to.equal(0);
    await page
      .evaluate(() => {
        // What the page never does must not work either.
        let wasRefused = false;
        try {
          document.body.innerHTML = "<b>no</b>";
        } catch {
          wasRefused = true;
        }
        if (!wasRefused) throw new Error("text can become HTML");
      })
      .catch((error: unknown) => problems.push(String(error)));
    // The browser reports the attempt above.
    for (const problem of problems.splice(0))
      expect(problem).to.match(/TrustedHTML|trusted-types|Trusted Type/i);
    await isShown(page, "#live", /^Live$/);
  });

  it("can be used by keyboard, and has names for what it shows", async () => {
    directory.replace("flags.yaml", manifest("flags", 1));
    await start();
    await agent(["default/flags"]);
    const page = await open();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal("Skip to topics");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal("search");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await isShown(page, "#filters [aria-pressed=true]", /^live 1$/);
    await isShown(page, "#filters :focus", /^live 1$/);
    // Each of these fails if it does not come: the page draws the table later than the buttons.
    await page.getByRole("table", { name: /topic matches/ }).waitFor();
    for (const column of ["Topic", "State", "Subscribers", "Behind"])
      await page.getByRole("columnheader", { name: column, exact: true }).first().waitFor();
    await page.setViewportSize({ width: 320, height: 700 });
    // Rows, as cards.
    await page.getByRole("row").first().waitFor();
  });
});

/** How many bytes of events come within so many seconds. */
async function eventBytes(management: string, seconds: number): Promise<[bytes: number, ms: number]> {
  const abort = new AbortController();
  const beganMs = performance.now();
  const response = await fetch(`${management}/status`, {
    headers: { accept: "text/event-stream" },
    signal: abort.signal,
  });
  const timer = setTimeout(() => abort.abort(), seconds * 1_000);
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
  clearTimeout(timer);
  return [bytes, performance.now() - beganMs];
}

/** Runs in the page. */
function findPoorContrasts(): string[] {
  type Colour = readonly [number, number, number, number];
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (text: string): Colour => {
    if (canvas === null) return [0, 0, 0, 0];
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (front: Colour, back: Colour): Colour => {
    const mix = (index: 0 | 1 | 2): number => front[index] * front[3] + back[index] * (1 - front[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const luminance = ([red, green, blue]: Colour): number => {
    const part = (value: number): number => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const backgroundOf = (element: Element | null): Colour => {
    if (element === null) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, backgroundOf(element.parentElement));
  };
  const poor: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim() ?? "";
    if (element === null || text === "" || element.getClientRects().length === 0) continue;
    if (element.closest("script, style, noscript, [aria-hidden]") !== null) continue;
    const style = getComputedStyle(element);
    const back = backgroundOf(element);
    const front = over(parse(element instanceof SVGElement ? style.fill : style.color), back);
    const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    const contrast = ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
    if (contrast < 4.5) poor.push(`${contrast.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  return poor;
}
