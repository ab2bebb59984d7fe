/**
 * `npm run docs`: makes docs/site/dist/html of the pages in docs/, a site that can be searched and needs nothing from elsewhere. `npm run docs -- serve`
 * shows it afterwards. The generator is a package of its own (docs/site), which is installed here and not with the rest: nothing else uses it.
 */
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { relativeLinks } from "./relative-links.js";
import { siteFaults } from "./site-faults.js";

const root = path.dirname(path.dirname(import.meta.dirname));
const docs = path.join(root, "docs");
const site = path.join(docs, "site");
/** Below dist, where no test looks for pages. */
const pages = path.join(site, "dist/pages");

const pnpm =
  /"packageManager": "([^"]+)"/.exec(readFileSync(path.join(root, "package.json"), "utf8"))?.[1] ?? "pnpm";
const quiet = ["--frozen-lockfile", "--prefer-offline", "--ignore-scripts", "--silent"];
run("npx", ["--yes", pnpm, "install", "--ignore-workspace", ...quiet]);
rmSync(pages, { recursive: true, force: true });
// One by one: cpSync refuses to copy a folder into itself, whatever its filter leaves out.
for (const name of readdirSync(docs).filter((name) => name !== "site"))
  cpSync(path.join(docs, name), path.join(pages, name), { recursive: true });
vitepress("build");
const html = path.join(site, "dist/html");
for (const page of readdirSync(html, { recursive: true, encoding: "utf8" }))
  if (page.endsWith(".html")) {
    const file = path.join(html, page);
    writeFileSync(file, relativeLinks(readFileSync(file, "utf8"), page));
  }
// What pages link to, and the generator does not take with it.
for (const folder of ["playground", "status-page"])
  cpSync(path.join(docs, folder), path.join(html, folder), { recursive: true });
const sources = readdirSync(pages, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".md"),
);
const faults = siteFaults(html, sources);
if (faults.length > 0) {
  console.error(`docs: the site has faults:\n${faults.join("\n")}`);
  process.exit(1);
}
console.log(`docs: docs/site/dist/html has ${sources.length} pages`);
if (process.argv[2] === "serve") vitepress("preview");

function vitepress(command: string): void {
  run(process.execPath, ["node_modules/vitepress/bin/vitepress.js", command, "."]);
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { cwd: site, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
