import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { anchorsOf, deadLinks } from "./dead-links.js";

const root = path.dirname(import.meta.dirname);
const folders = [".", "packages", "test", "scripts", "bench", "docs", "deploy", "examples"];

describe("the links of the documentation", () => {
  it("lead to files and headings that there are, in pages, comments, charts, alerts and texts of errors", () => {
    const files = folders.flatMap(textsIn);
    expect(files.filter((name) => name.endsWith(".md")).length).to.be.greaterThan(40);
    expect(deadLinks(root, files)).to.deep.equal([]);
  });
});

describe("deadLinks", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "links-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it("finds files and headings that are not there, and takes code for no link", () => {
    mkdirSync(path.join(folder, "docs/deep"), { recursive: true });
    const page = [
      "# A page",
      "## What `--tls` costs, in 5 minutes",
      "[there](../other.md#a-heading) [here](#what---tls-costs-in-5-minutes) [away](https://example.com/#x)",
      "`[code](nowhere.md)`, [gone](../gone.md), [no heading](../other.md#nothing)",
      "```\n[block](nowhere.md)\n```",
    ];
    writeFileSync(path.join(folder, "docs/deep/page.md"), page.join("\n"));
    writeFileSync(path.join(folder, "docs/other.md"), "# A heading\n");
    writeFileSync(
      path.join(folder, "code.ts"),
      "// docs/other.md and docs/other.md#a-heading, not docs/other.md#else or docs/old.md\n",
    );
    expect(deadLinks(folder, ["docs/deep/page.md", "code.ts"])).to.deep.equal([
      { file: "docs/deep/page.md", target: "../gone.md" },
      { file: "docs/deep/page.md", target: "../other.md#nothing" },
      { file: "code.ts", target: "docs/other.md#else" },
      { file: "code.ts", target: "docs/old.md" },
    ]);
  });

  it("numbers headings that are there twice", () => {
    expect([...anchorsOf("# One\n## One\n## [Two](two.md)!\n")]).to.deep.equal(["one", "one-1", "two"]);
  });
});

/** Files that may mention a page: of the root itself, or anywhere in a folder. */
function textsIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (/^(node_modules|dist|coverage)$/.test(entry.name)) return [];
    if (entry.isDirectory()) return folder === "." ? [] : textsIn(name);
    return entry.isFile() && isText(name) ? [name] : [];
  });
}

function isText(name: string): boolean {
  return (
    /\.(md|ts|mjs|cjs|json|ya?ml|tpl|txt|Dockerfile)$/.test(name) && !name.startsWith("scripts/dead-links")
  );
}
