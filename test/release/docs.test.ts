import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { packageDocs } from "../../scripts/release/package-docs.js";
import { siteFaults } from "../../scripts/site/site-faults.js";
import { startChromium } from "../support/chromium.js";
import { markdownPages } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";

const version = "1.2.3";
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

/** A web server that knows nothing but files. */
async function serve(folder: string): Promise<Server> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://site");
    const file = path.join(folder, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (!existsSync(file)) response.writeHead(404).end();
    else {
      const type = types[path.extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type }).end(readFileSync(file));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

describe("the documentation of a release", function () {
  this.timeout(600_000);
  const directory = new TempDirectory();
  const site = directory.file(`bunting-docs-${version}`);
  let browser: Browser | undefined;
  let server: Server | undefined;
  before("builds and unpacks it", () => {
    packageDocs(directory.path, version);
    execFileSync("tar", ["-C", directory.path, "-xzf", `${site}.tgz`]);
  });
  after(async () => {
    await browser?.close();
    server?.close();
    directory.remove();
  });

  it("has all pages of docs/, whose links lead somewhere, and loads nothing from elsewhere", () => {
    const pages = markdownPages("docs").map((page) => page.replace(/^docs\//, ""));
    expect(pages.length).to.be.greaterThan(70);
    expect(siteFaults(site, pages)).to.deep.equal([]);
  });

  it("leads to files of the version where a link leaves docs/", () => {
    const html = readdirSync(site, { recursive: true, encoding: "utf8" })
      // The playground is a file of its own, which is the same in every release.
      .filter((file) => file.endsWith(".html") && !file.startsWith("playground/"))
      .map((file) => readFileSync(path.join(site, file), "utf8"));
    const outside = html.flatMap((text) => [
      ...text.matchAll(/href="(https:\/\/github\.com\/bunting\/[^"]*)"/g),
    ]);
    expect(outside.length).to.be.greaterThan(10);
    for (const [, address] of outside)
      expect(address).to.match(
        /^https:\/\/github\.com\/bunting\/bunting\/(blob\/v1\.2\.3\/|issues|security)/,
      );
  });

  it("is shown and searched in a browser without a network", async function () {
    browser = await startChromium();
    if (browser === undefined) return this.skip();
    server = await serve(site);
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const page = await browser.newPage();
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${address}/`) && !request.url().startsWith("data:"))
        elsewhere.push(request.url());
    });
    await page.goto(`${address}/start/application.html`);
    expect(await page.locator("h1").textContent()).to.contain("Your application, in ten minutes");
    await page.locator("button.DocSearch-Button, #local-search button").first().click();
    await page.locator("#localsearch-input").fill("drain-window");
    const found = page.locator(".VPLocalSearchBox .result").first();
    await found.waitFor();
    expect(await found.getAttribute("href")).to.match(/^\/[\w/-]+\.html/);
    await page.goto(`${address}/playground/index.html`);
    await page.locator("#answer").filter({ hasText: /./ }).waitFor();
    expect(elsewhere).to.deep.equal([]);
  });
});
