import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

/** A link that leads nowhere: the file that has it, and its text. */
export interface DeadLink {
  readonly file: string;
  readonly target: string;
}

/** The links of pages, and what other files say of pages (`docs/tls.md#rotation`), whose file or heading is not there. */
export function deadLinks(root: string, files: readonly string[]): readonly DeadLink[] {
  const headings = new Map<string, ReadonlySet<string>>();
  const isThere = (file: string, target: string): boolean => {
    const [name = "", anchor] = target.split("#");
    const to = name === "" ? file : path.posix.normalize(path.posix.join(path.posix.dirname(file), name));
    if (!existsSync(path.join(root, to))) return false;
    if (anchor === undefined || !to.endsWith(".md")) return true;
    const found = headings.get(to) ?? anchorsOf(readFileSync(path.join(root, to), "utf8"));
    headings.set(to, found);
    return found.has(anchor);
  };
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    const dead = file.endsWith(".md")
      ? linksOf(text).filter((target) => !isThere(file, target))
      : mentionsOf(text).filter((target) => !isThere("at-the-root", target));
    return dead.map((target) => ({ file, target }));
  });
}

/** The targets of links within the repository. What is between backticks is no link. */
function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```[^]*?^ *```$/gm, "").replaceAll(/(`+)[^`\n]+\1/g, "code");
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function mentionsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?<![\w/-])docs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([target]) => target);
}

/** The anchors of a page, as GitHub makes them of its headings. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/^#{1,6} (.*)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let again = 0;
    while (anchors.has(again === 0 ? anchor : `${anchor}-${again}`)) again++;
    anchors.add(again === 0 ? anchor : `${anchor}-${again}`);
  }
  return anchors;
}
