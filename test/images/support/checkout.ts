import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { repository } from "../../support/markdown-pages.js";
import type { TempDirectory } from "../../support/temp-directory.js";

/** The files of the last commit, in a folder of their own: pages change some of them, and build from them: `checkout` in the directory. */
export function checkOutInto(directory: TempDirectory): void {
  const [checkout, archive] = [directory.file("checkout"), directory.file("archive.tar")];
  mkdirSync(checkout);
  execFileSync("git", ["-C", repository, "archive", "--output", archive, "HEAD"]);
  execFileSync("tar", ["-C", checkout, "-xf", archive]);
}
