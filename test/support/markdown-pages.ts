import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const repository = path.dirname(path.dirname(import.meta.dirname));

const skipped = /^(node_modules|dist|coverage|fixtures|\.git|\.bunting)$/;

/** A block of code between fences. */
export interface CodeBlock {
  /** The first word after the opening fence. */
  readonly language: string;
  /** Without the indentation of the list that the block stands in. */
  readonly text: string;
  /** The line of the opening fence. */
  readonly line: number;
  /** What a comment `<!-- … -->` before the fence says; "" without one. */
  readonly comment: string;
}

/** All Markdown files of the repository that are below a folder, by their paths in it. */
export function markdownPages(folder = ""): readonly string[] {
  return readdirSync(path.join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return skipped.test(entry.name) ? [] : markdownPages(name);
    return entry.name.endsWith(".md") ? [name] : [];
  });
}

export function readPage(page: string): string {
  return readFileSync(path.join(repository, page), "utf8");
}

/** The blocks of a page, in their order. */
export function codeBlocksOf(page: string): readonly CodeBlock[] {
  const text = readPage(page);
  const fenced = /^(?: *<!-- (.+) -->\n\n?)?( *)(```+)([\w-]*).*\n([^]*?)^\2\3$/gm;
  return [...text.matchAll(fenced)].map((match) => {
    const [, comment = "", indent = "", , language = "", block = ""] = match;
    const line = text.slice(0, match.index + match[0].indexOf("```")).split("\n").length;
    return {
      language,
      text: block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      line,
      comment,
    };
  });
}

/** The one block of commands of a page that has this in it. */
export function blockWith(page: string, part: string): string {
  const found = codeBlocksOf(page).filter(({ language, text }) => language === "sh" && text.includes(part));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`${page} has ${found.length} blocks of commands with ${part}`);
  return block.text;
}

/** The text of a page without code: what its links and headings are read from. */
export function proseOf(page: string): string {
  return readPage(page).replaceAll(/^( *)(```+).*\n[^]*?^\1\2$/gm, "");
}
