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

/** A web server that knows nothing but files, and shows them below a path. */
async function serve(folder: string, below: string): Promise<Server> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://site");
    const file = path.join(folder, pathname.replace(below, "/").replace(/\/$/, "/index.html"));
    if (!pathname.startsWith(below) || !existsSync(file)) response.writeHead(404).end();
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
  const servers: Server[] = [];
  before("builds and unpacks it", () => {
    packageDocs(directory.path, version);
    execFileSync("tar", ["-C", directory.path, "-xzf", `${site}.tgz`]);
  });
  after(async () => {
    await browser?.close();
    for (const server of servers) server.close();
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

  for (const below of ["/", "/flags/bunting/"])
    it(`is shown and searched in a browser without a network, at ${below} of a server`, async function () {
      browser ??= await startChromium();
      if (browser === undefined) return this.skip();
      const server = await serve(site, below);
      servers.push(server);
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${below}`;
      const page = await browser.newPage();
      const wrong: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(address) && !request.url().startsWith("data:"))
          wrong.push(request.url());
      });
      page.on("response", (response) => {
        if (!response.ok()) wrong.push(`${response.status()} ${response.url()}`);
      });
      await page.goto(`${address}start/application.html`);
      expect(await page.locator("h1").textContent()).to.contain("Your application, in ten minutes");
      await page.locator("button.DocSearch-Button, #local-search button").first().click();
      await page.locator("#localsearch-input").fill("drain-window");
      const found = page.locator(".VPLocalSearchBox .result").first();
      await found.waitFor();
      const result = new URL((await found.getAttribute("href")) ?? "", page.url()).href;
      expect(result).to.match(/\/[\w-]+\.html(#.*)?$/);
      await found.click();
      await page.waitForURL(result);
      await page.locator("main h1").filter({ hasNotText: "Your application" }).waitFor();
      await page.goto(`${address}index.html`);
      await page.locator("nav a, a.VPLink").filter({ hasText: "Troubleshoot" }).first().click();
      await page.waitForURL(`${address}troubleshoot/`);
      await page.goto(`${address}playground/index.html`);
      await page.locator("#answer").filter({ hasText: /./ }).waitFor();
      expect(wrong).to.deep.equal([]);
      await page.close();
    });
});
