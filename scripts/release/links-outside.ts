import path from "node:path";
import { repositoryAddress } from "./repository-address.js";

/**
 * The text of a page of the repository, whose links to files that are not packed with it lead to those of the version on the web.
 *
 * @param page its path in the repository
 */
export function linksOutside(
  text: string,
  page: string,
  { isPacked, version }: { readonly isPacked: (file: string) => boolean; readonly version: string },
): string {
  const address = repositoryAddress(version);
  return text.replaceAll(/\]\(([^()\s#:]+)(#[^()\s]*)?\)/g, (link, to: string, anchor = "") => {
    const file = path.posix.normalize(path.posix.join(path.posix.dirname(page), to));
    return isPacked(file) ? link : `](${address}${file}${String(anchor)})`;
  });
}
