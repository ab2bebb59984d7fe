import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { codeBlocksOf, repository } from "./markdown-pages.js";
import { TempDirectory } from "./temp-directory.js";

/** A command `$ bunting …` of a page, and what the page says that it prints. */
export interface PageCommand {
  readonly args: readonly string[];
  readonly printed: string;
}

/** The commands in the blocks `console` of a page. */
export function commandsOf(page: string): readonly PageCommand[] {
  return codeBlocksOf(page)
    .filter(({ language }) => language === "console")
    .flatMap(({ text }) =>
      [...text.matchAll(/^\$ bunting (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(([, words = "", printed = ""]) => ({
        args: wordsOf(words),
        printed,
      })),
    );
}

/** Files that a page tells its readers to write: blocks of YAML whose first line is a comment with the name. */
export function filesOf(page: string): ReadonlyMap<string, string> {
  const named = codeBlocksOf(page).flatMap(({ language, text }) => {
    const name = /^# ([\w./-]+\.yaml)\n/.exec(text)?.[1];
    return language === "yaml" && name !== undefined ? ([[name, text]] as const) : [];
  });
  return new Map(named);
}

/** A directory with the files of a page, and the examples of the repository: where the page's commands are run. */
export function pageDirectory(page: string): TempDirectory {
  const directory = new TempDirectory();
  symlinkSync(path.join(repository, "examples"), directory.file("examples"));
  for (const [name, text] of filesOf(page)) {
    mkdirSync(path.dirname(directory.file(name)), { recursive: true });
    writeFileSync(directory.file(name), text);
  }
  return directory;
}

function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
