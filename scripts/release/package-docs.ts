import path from "node:path";
import { run } from "../images/buildah.js";
import { repositoryAddress } from "./repository-address.js";
import { writeArchive } from "./write-archive.js";

const root = path.resolve(import.meta.dirname, "../..");

/** Builds the site of docs/ and packs it: files that any web server shows, and that take nothing from elsewhere. Links to other files lead to those of the version. */
export function packageDocs(directory: string, version: string): void {
  run(process.execPath, ["--import=tsx", path.join(root, "scripts/site/build-site.ts")], {
    BUNTING_REPOSITORY_URL: repositoryAddress(version),
  });
  const name = `bunting-docs-${version}`;
  writeArchive(path.join(root, "docs/site/dist/html"), name, path.join(directory, `${name}.tgz`));
}
