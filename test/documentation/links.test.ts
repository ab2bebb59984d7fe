import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { markdownPages, proseOf, repository } from "../support/markdown-pages.js";

/** That links lead somewhere is tested beside scripts/dead-links.ts. */
describe("the links of all Markdown files", () => {
  it("reach every page of docs/ from README.md", () => {
    const reached = new Set<string>();
    const waiting = ["README.md"];
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      if (reached.has(page)) continue;
      reached.add(page);
      for (const target of linksOf(page)) {
        const file = pageAt(fileOf(page, target));
        if (file !== undefined) waiting.push(file);
      }
    }
    const pages = markdownPages("docs");
    expect(pages.filter((page) => !reached.has(page))).to.deep.equal([]);
  });
});

/** Where links and pictures of a page lead, but for those to other sites. */
function linksOf(page: string): readonly string[] {
  const prose = proseOf(page).replaceAll(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

function fileOf(page: string, target: string): string {
  const [file = ""] = target.split("#");
  return file === ""
    ? path.join(repository, page)
    : path.join(repository, path.dirname(page), decodeURI(file));
}

/** A folder's page is its README.md. */
function pageAt(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const page = statSync(file).isDirectory() ? path.join(file, "README.md") : file;
  return page.endsWith(".md") && existsSync(page) ? path.relative(repository, page) : undefined;
}
