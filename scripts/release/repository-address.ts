import { readFileSync } from "node:fs";
import path from "node:path";

/** Where the files of a version can be read on the web; ends with a slash. */
export function repositoryAddress(version: string): string {
  const file = path.resolve(import.meta.dirname, "../../packages/cli/package.json");
  const { homepage } = JSON.parse(readFileSync(file, "utf8")) as { readonly homepage: string };
  return `${homepage.replace(/#.*$/, "")}/blob/v${version}/`;
}
