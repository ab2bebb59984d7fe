import path from "node:path";

/** Anchors as GitHub makes them: the pages link to these. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}

/**
 * Has links to README.md lead to the page of its folder, and takes those away that lead out of docs/: the site has no such files. Where the
 * repository can be read on the web, BUNTING_REPOSITORY_URL is the address of its files, and they lead there.
 */
export function pageLinks(markdown, sourceDirectory) {
  const repository = process.env["BUNTING_REPOSITORY_URL"];
  markdown.core.ruler.push("page-links", ({ tokens, env }) => {
    for (const { children } of tokens)
      for (const token of children ?? []) {
        const target = token.type === "link_open" ? (token.attrGet("href") ?? "") : "";
        if (target === "" || /^(?:[a-z]+:|#|\/)/.test(target)) continue;
        const file = path.relative(
          sourceDirectory,
          path.resolve(path.dirname(env.path), target.split("#")[0]),
        );
        if (!file.startsWith("..")) token.attrSet("href", target.replace(/README\.md(?=$|#)/, "index.md"));
        else if (repository === undefined) token.attrs = [["title", path.posix.join("docs", file)]];
        else token.attrSet("href", new URL(path.posix.join("docs", file), repository).href);
      }
  });
}
