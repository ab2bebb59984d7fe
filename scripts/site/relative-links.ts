import path from "node:path";

/**
 * The HTML of a page whose links, pictures, styles and scripts are named from where it is, and folders by their `index.html`: so it can be read as a
 * file, and below any path of a web server. The generator's scripts get the path of the site from the place of the page. 404.html has no place:
 * servers show it for any path, so what it names stays at the root.
 *
 * @param page its path in the site
 */
export function relativeLinks(html: string, page: string): string {
  if (page === "404.html") return html;
  const folder = path.posix.dirname(page);
  const up = path.posix.relative(folder, ".") || ".";
  const relative = (address: string): string => {
    const [, to = "", rest = ""] = /^([^#?]*)(.*)$/.exec(address) ?? [];
    const named = to.startsWith("/") ? `${up}${to}` : to;
    return `${named.endsWith("/") ? `${named}index.html` : named}${rest}`;
  };
  return html
    .replaceAll(/<(?:a|img|link|script)\b[^>]*>/g, (tag) =>
      tag.replace(
        / (href|src)="((?!\/\/|[a-z][a-z+.-]*:|#)[^"]+)"/,
        (_, name: string, to: string) => ` ${name}="${relative(to)}"`,
      ),
    )
    .replace(
      /(?<=window\.__VP_SITE_DATA__=JSON\.parse\("(?:[^"\\]|\\.)*"\);)/,
      `__VP_SITE_DATA__.base=new URL("${up}/",location).pathname;`,
    );
}
