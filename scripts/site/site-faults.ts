import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/**
 * What is wrong with a site of HTML files, a sentence each: pages that are missing, links to files that are, or to anchors that no page has, and
 * parts that are loaded from elsewhere.
 *
 * @param sources the Markdown files that the site was made of, by their paths
 */
export function siteFaults(site: string, sources: readonly string[]): readonly string[] {
  const pages = new Map(
    htmlFilesBelow(site).map((file) => [file, readFileSync(path.join(site, file), "utf8")]),
  );
  const missing = sources
    .map((source) => source.replace(/(^|\/)README\.md$/, "$1index.md").replace(/\.md$/, ".html"))
    .filter((page) => !pages.has(page))
    .map((page) => `${page} is missing`);
  return [
    ...missing,
    ...[...pages].flatMap(([page, html]) => [
      ...deadAnchors(page, html),
      ...deadLinks(page, html),
      ...foreign(page, html),
    ]),
  ];

  /** The generator checks links to pages only, and no pictures. */
  function deadLinks(page: string, html: string): string[] {
    return [...html.matchAll(/<(?:a|img)\b[^>]*? (?:href|src)="([^":#?]+)[#?"]/g)].flatMap(([, to = ""]) => {
      const target = path.posix.join("/", path.posix.dirname(page), to).slice(1) || ".";
      const file = to.startsWith("/") ? to.slice(1) : target;
      const exists = [file, `${file}.html`, `${file}/index.html`].some((name) =>
        existsSync(path.join(site, name)),
      );
      return exists ? [] : [`${page} links to ${to}, which is missing`];
    });
  }

  function deadAnchors(page: string, html: string): string[] {
    return [...html.matchAll(/<a\b[^>]*? href="([^":#]*)#([^"]+)"/g)].flatMap(([, to = "", anchor = ""]) => {
      const target = to === "" ? page : pageAt(path.posix.join("/", path.posix.dirname(page), to), to);
      const id = decodeURIComponent(anchor);
      const hasId = pages.get(target)?.includes(` id="${id}"`) ?? false;
      return hasId ? [] : [`${page} links to ${target}#${id}, which is nowhere`];
    });
  }
}

/** The file of a page that a link names by its path, with or without `.html`, or by its folder. */
function pageAt(relative: string, to: string): string {
  const place = (to.startsWith("/") ? to : relative).slice(1);
  return place === "" || place.endsWith("/") ? `${place}index.html` : place.replace(/(\.html)?$/, ".html");
}

/** Readers of the site may have no way to the internet, and it tells nobody who they are. */
function foreign(page: string, html: string): string[] {
  const loaded = html.matchAll(/<(?:script|link|img|iframe)\b[^>]*? (?:src|href)="((?:https?:)?\/\/[^"]*)"/g);
  return [...loaded].map(([, address = ""]) => `${page} loads ${address}`);
}

function htmlFilesBelow(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".html")).map((file) => file.replaceAll(path.sep, "/"));
}
