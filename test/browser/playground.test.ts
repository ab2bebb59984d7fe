import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "../support/chromium.js";
import { runBunting } from "../support/cli-process.js";

const root = path.resolve(import.meta.dirname, "../..");
/** As it is in the repository: a file, without a server. */
const address = pathToFileURL(path.join(root, "docs/playground/index.html")).href;

describe("the playground, in Chromium", () => {
  let browser: Browser | undefined;
  const problems: string[] = [];
  const cleanUps: (() => unknown)[] = [];

  before(async function () {
    browser = await startChromium();
    if (browser === undefined) this.skip();
  });
  after(() => browser?.close());
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
    expect(problems.splice(0)).to.deep.equal([]);
  });

  /** The page; a message on its console, or a request of it, fails the test. */
  async function open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    if (browser === undefined) throw new Error("there is no browser");
    const context = await browser.newContext(options);
    cleanUps.push(() => context.close());
    const page = await context.newPage();
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", (request) => {
      if (request.url() !== address && !request.url().startsWith("data:")) problems.push(request.url());
    });
    await page.goto(address);
    await page.waitForFunction(() => document.getElementById("answer")?.textContent !== "");
    return page;
  }

  const answer = (page: Page): Promise<string | null> => page.locator("#answer").textContent();
  /** Waits until the page shows this in its answer. */
  async function untilAnswer(page: Page, text: string): Promise<void> {
    await page.waitForFunction(
      (wanted) => document.getElementById("answer")?.textContent.includes(wanted) === true,
      text,
    );
  }
  async function untilSummary(page: Page, text: string): Promise<void> {
    await page.waitForFunction((wanted) => document.getElementById("summary")?.textContent === wanted, text);
  }

  it("begins with a flag, its answer, and the way through its rule", async () => {
    const page = await open();
    expect(await answer(page)).to.equal('"Welcome, and happy holidays!"');
    expect(await page.locator("#facts").textContent()).to.equal('reason TARGETING_MATCH, variant "festive"');
    const steps = await page.locator("#way li").allTextContents();
    expect(steps[0]).to.match(/^if → "festive"/);
    expect(steps).to.include('var "email" → "ada@example.com"');
    expect(await page.locator("#summary").textContent()).to.equal("No findings.");
  });

  it("says how many users get which variant of a rollout, and leads on to the pages", async () => {
    const page = await open();
    expect(await page.locator("#shares").textContent()).to.equal("");
    await page.getByLabel("Flag", { exact: true }).selectOption("new-checkout");
    const shares = 'Of 1,000 users with keys of their own and else this context, 910 get "off", 90 get "on".';
    await page.waitForFunction((wanted) => document.getElementById("shares")?.textContent === wanted, shares);
    const links = await page.locator("footer a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    expect(links).to.have.length(2);
    for (const link of links) {
      const file = link?.replace("https://github.com/bunting/bunting/blob/main/", "") ?? "";
      expect(existsSync(path.join(root, file)), file).to.equal(true);
    }
  });

  it("answers as the context and the flags are written", async () => {
    const page = await open();
    await page.getByLabel("Context").fill('{"email":"bob@elsewhere.example"}');
    await untilAnswer(page, '"Welcome."');
    expect(await page.locator("#facts").textContent()).to.equal('reason DEFAULT, variant "plain"');
    await page.getByLabel("Type that is asked for").selectOption("boolean");
    await untilAnswer(page, "is not of the type boolean");
    await page.getByLabel("Context").fill('{"email":');
    await untilAnswer(page, "The context is not JSON");
    expect(await page.getByLabel("Context").getAttribute("aria-invalid")).to.equal("true");
    await page.getByLabel("Flags:").fill("flags: {}\n");
    await page.getByLabel("Context").fill("{}");
    await untilAnswer(page, "There is no flag to evaluate yet.");
  });

  it("says of every flag of the examples what the command says", async () => {
    const page = await open();
    const context = JSON.stringify({ targetingKey: "ada", email: "ada@example.com", orders: 7 });
    await page.getByLabel("Context").fill(context);
    let compared = 0;
    for (const [name, count] of [
      ["storefront.yaml", 3],
      ["pricing.json", 2],
    ] as const) {
      const file = path.join(root, "examples/flags", name);
      await page.getByLabel("Flags:").fill(readFileSync(file, "utf8"));
      await page.waitForFunction((all) => document.querySelectorAll("#key option").length === all, count);
      for (const key of await page.locator("#key option").allTextContents()) {
        await page.getByLabel("Flag", { exact: true }).selectOption(key);
        const { out } = await runBunting(["eval", file, key, "--json", "--context", context]);
        const { value, reason } = JSON.parse(out) as { readonly value: unknown; readonly reason: string };
        await untilAnswer(page, JSON.stringify(value));
        expect(await page.locator("#facts").textContent()).to.contain(`reason ${reason}`);
        compared++;
      }
    }
    expect(compared).to.equal(5);
  });

  it("finds what bunting lint finds, at the same places, and leads to them", async () => {
    const page = await open();
    const file = path.join(root, "examples/lint/storefront.yaml");
    const { out } = await runBunting(["lint", "--json", file]);
    const { findings } = JSON.parse(out) as {
      readonly findings: readonly {
        line: number;
        column: number;
        severity: string;
        message: string;
        kind: string;
      }[];
    };
    await page.getByLabel("Flags:").fill(readFileSync(file, "utf8"));
    await untilSummary(page, `${findings.length} findings:`);
    expect(await page.locator("#findings li").allTextContents()).to.deep.equal(
      findings.map(
        ({ line, column, severity, message, kind }) =>
          `Line ${line}, column ${column} ${severity}: ${message} [${kind}]`,
      ),
    );
    await page.getByRole("button", { name: "Line 26, column 18" }).click();
    const chosen = await page.evaluate(() => {
      const field = document.activeElement as HTMLTextAreaElement;
      return field.value.slice(field.selectionStart, field.selectionEnd);
    });
    expect(chosen).to.match(/^starts_wiht/);
    await page.getByLabel("Flags:").fill("flags:\n\ta: {}\n");
    await untilSummary(page, "1 finding:");
    expect(await page.locator("#findings li").textContent()).to.match(
      /^Line 2, column 1 error: .*\[syntax\]$/,
    );
    expect(await page.getByLabel("Flags:").getAttribute("aria-invalid")).to.equal("true");
  });

  it("works by the keyboard alone, on a phone, without a line that is too long for it", async () => {
    const page = await open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    const focused: string[] = [];
    for (let presses = 0; presses < 4; presses++) {
      await page.keyboard.press("Tab");
      focused.push(await page.evaluate(() => document.activeElement?.id ?? ""));
    }
    expect(focused).to.deep.equal(["flags", "context", "key", "type"]);
    await page.keyboard.press("ArrowDown");
    await untilAnswer(page, "is not of the type boolean");
    await page
      .getByLabel("Flags:")
      .fill(`flags:\n  a: { state: ENABLED, variants: { v: "${"x".repeat(500)}" }, defaultVariant: w }\n`);
    await untilSummary(page, "1 finding:");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).to.be.at.most(360);
    await page.keyboard.press("Shift+Tab");
    const button = page.getByRole("button");
    await button.focus();
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal("flags");
    const { height = 0 } = (await button.boundingBox()) ?? {};
    expect(height, "room for a finger").to.be.at.least(44);
  });

  it("lets nobody be asked: its policy allows its own script and style alone", () => {
    const html = readFileSync(path.join(root, "docs/playground/index.html"), "utf8");
    const policy = /<meta http-equiv="content-security-policy" content="([^"]*)"/.exec(html)?.[1] ?? "";
    expect(policy).to.match(/^default-src 'none'; script-src 'sha256-[^ ]+'; style-src 'sha256-/);
    expect(policy).not.to.match(/unsafe|connect-src|https?:/);
  });
});
