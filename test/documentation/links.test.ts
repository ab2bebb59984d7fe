import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { anchorsOf, markdownPages, proseOf, repository } from "../support/markdown-pages.js";

describe("the links of all Markdown files", () => {
  const pages = markdownPages();
  const links = pages.flatMap((page) => linksOf(page).map((target) => ({ page, target })));

  it("lead to files and folders of this repository that there are", () => {
    const missing = links.filter(({ page, target }) => !existsSync(fileOf(page, target)));
    expect(missing.map(({ page, target }) => `${page}: ${target}`)).to.deep.equal([]);
    expect(links.length).to.be.greaterThan(200);
  });

  it("lead to headings that there are", () => {
    const anchored = links.filter(({ target }) => target.includes("#"));
    const wrong = anchored.filter(({ page, target }) => {
      const file = path.relative(repository, fileOf(page, target));
      const anchor = target.slice(target.indexOf("#") + 1);
      return existsSync(path.join(repository, file)) && file.endsWith(".md") && !anchorsOf(file).has(anchor);
    });
    expect(wrong.map(({ page, target }) => `${page}: ${target}`)).to.deep.equal([]);
    expect(anchored.length).to.be.greaterThan(50);
  });

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
    expect(pages.filter((page) => page.startsWith("docs/") && !reached.has(page))).to.deep.equal([]);
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
