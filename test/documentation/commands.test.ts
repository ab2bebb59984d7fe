import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { runBunting } from "../support/cli-process.js";
import { codeBlocksOf, markdownPages, repository } from "../support/markdown-pages.js";
import { commandsOf, filesOf, pageDirectory } from "../support/page-commands.js";

const pages = markdownPages();

describe("what pages show of the command bunting", () => {
  const withCommands = pages.filter((page) => commandsOf(page).length > 0);

  for (const page of withCommands)
    it(`is what it prints, in ${page}`, async () => {
      const directory = pageDirectory(page);
      try {
        for (const { args, printed } of commandsOf(page)) {
          const { out, err } = await runBunting(args, { directory: directory.path });
          expect(`${out}${err}`, args.join(" ")).to.equal(printed);
        }
      } finally {
        directory.remove();
      }
    });

  it("is shown on pages for users", () => {
    expect(withCommands).to.include.members(["docs/cli.md", "docs/flags/rollouts.md"]);
  });
});

describe("examples that pages show", () => {
  it("are the files that were run, where the page names one", () => {
    const shown = pages.flatMap((page) =>
      codeBlocksOf(page).filter(({ comment }) => comment.startsWith("examples/")),
    );
    for (const { comment, text } of shown)
      expect(text, comment).to.equal(readFileSync(path.join(repository, comment), "utf8"));
    expect(shown.length).to.be.greaterThan(9);
  });
});

describe("the YAML and JSON that pages show", () => {
  it("can be parsed", () => {
    let blocks = 0;
    for (const page of pages) {
      for (const { language, text, line } of codeBlocksOf(page)) {
        if (language === "yaml") {
          const errors = parseAllDocuments(text).flatMap((document) => document.errors);
          expect(errors, `${page}:${line}`).to.deep.equal([]);
        } else if (language === "json") JSON.parse(text);
        else continue;
        blocks++;
      }
    }
    expect(blocks).to.be.greaterThan(20);
  });

  it("has no mistakes that bunting lint finds, but for files that are named after them", async () => {
    let files = 0;
    for (const page of pages) {
      const flagFiles = [...filesOf(page)].filter(([, text]) => /^kind: FeatureFlag$|^flags:$/m.test(text));
      if (flagFiles.length === 0) continue;
      const directory = pageDirectory(page);
      for (const [name] of flagFiles) {
        const { code, out } = await runBunting(["lint", name], { directory: directory.path });
        expect(code, `${page}: ${name}\n${out}`).to.equal(name.includes("wrong") ? 1 : 0);
        files++;
      }
      directory.remove();
    }
    expect(files).to.be.greaterThan(4);
  });
});
