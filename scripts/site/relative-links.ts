import path from "node:path";

/**
 * The HTML of a page whose links, pictures and styles are named from where it is, and folders by their `index.html`: so it can be read as a file, and
 * below any path of a web server. Scripts keep their paths, since the generator's know the site at the root only; elsewhere there is no search.
 *
 * @param page its path in the site
 */
export function relativeLinks(html: string, page: string): string {
  const folder = path.posix.dirname(page);
  const up = path.posix.relative(folder, ".");
  const relative = (address: string): string => {
    const [, to = "", rest = ""] = /^([^#?]*)(.*)$/.exec(address) ?? [];
    const named = to.startsWith("/") ? `${up === "" ? "." : up}${to}` : to;
    return `${named.endsWith("/") ? `${named}index.html` : named}${rest}`;
  };
  return html.replaceAll(/<(?:a|img|link)\b[^>]*>/g, (tag) =>
    tag.includes(' rel="modulepreload"')
      ? tag
      : tag.replace(
          / (href|src)="((?!\/\/|[a-z][a-z+.-]*:|#)[^"]+)"/,
          (_, name: string, to: string) => ` ${name}="${relative(to)}"`,
        ),
  );
}
