import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { codeBlocksOf, markdownPages, proseOf, repository } from "../support/markdown-pages.js";
import { commandRuns, notRunYet } from "./command-runs.js";

interface ShownCommand {
  readonly page: string;
  /** On one line, without the remark at its end. */
  readonly command: string;
}

/** The commands of all pages: in blocks `sh`, and before an output that differs from run to run, in blocks `text`. */
const shown: readonly ShownCommand[] = markdownPages().flatMap((page) =>
  codeBlocksOf(page)
    .flatMap(({ language, text }) => {
      if (language === "text") return [...text.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command);
      return language === "sh" ? text.replaceAll(/\\\n\s*/g, "").split("\n") : [];
    })
    .map((line) => line.replace(/(^|\s+)# .*$/, "").trim())
    .filter((command) => command !== "")
    .map((command) => ({ page, command })),
);

const tests = [...Object.entries(commandRuns), ...Object.entries(notRunYet)];
const rules = tests.flatMap(([test, commands]) => commands.map((command) => ({ test, command })));

describe("every command that a page shows", () => {
  it("has a test that runs it", () => {
    const unknown = shown.filter(({ command }) => !rules.some((rule) => rule.command.test(command)));
    expect(unknown).to.deep.equal([]);
    expect(shown.length).to.be.greaterThan(120);
  });

  it("is in no block of another language or without one, where it would be overlooked", () => {
    const indented = markdownPages().flatMap((page) =>
      [...proseOf(page).matchAll(/(?<=^\S.*\n\n) {4}\S.*$/gm)].map(([line]) => `${page}: ${line.trim()}`),
    );
    expect(indented).to.deep.equal([]);
    const other = markdownPages().flatMap((page) =>
      codeBlocksOf(page)
        .filter(({ language }) => ["bash", "shell", "zsh"].includes(language))
        .map(({ line }) => `${page}:${line}`),
    );
    expect(other).to.deep.equal([]);
    // Commands with their output are of bunting, kubectl get and curl, whose tests read these blocks.
    const prompts = markdownPages().flatMap((page) =>
      codeBlocksOf(page)
        .filter(({ language }) => language === "console")
        .flatMap(({ text }) =>
          [...text.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => `${page}: ${command}`),
        ),
    );
    const others = prompts.filter((line) => !/: (npx )?bunting /.test(line));
    expect(others.map((line) => line.split(" ").slice(0, 3).join(" "))).to.have.members([
      "docs/operate/upgrade-in-place.md: kubectl get",
      "packages/agent/README.md: curl -X",
    ]);
  });

  it("is named by rules of which each is for a command that is there, and by tests that are there", () => {
    for (const { test, command } of rules)
      expect(
        shown.some((one) => command.test(one.command)),
        `${test}: ${String(command)}`,
      ).to.equal(true);
    for (const [test] of tests) expect(existsSync(path.join(repository, test)), test).to.equal(true);
  });

  it("is taken from its page by the test that runs it, or written in it", () => {
    const texts = new Map(
      tests.map(([test]) => [
        test,
        // What reads pages for several tests.
        [test, "test/helm/support/readme.ts"]
          .map((file) => readFileSync(path.join(repository, file), "utf8"))
          .join("\n"),
      ]),
    );
    for (const [test, commands] of tests)
      for (const rule of commands) {
        const text = texts.get(test) ?? "";
        const of = shown.filter(({ command }) => rule.test(command));
        const isNamed = of.some(
          ({ page, command }) =>
            text.includes(path.basename(page)) || text.includes(command.split(" ").slice(0, 2).join(" ")),
        );
        expect(isNamed, `${test} knows nothing of ${of.map(({ page }) => page).join(", ")}`).to.equal(true);
      }
  });
});
