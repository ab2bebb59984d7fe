import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { run } from "../images/buildah.js";
import { linksOutside } from "./links-outside.js";
import { writeArchive } from "./write-archive.js";

const root = path.resolve(import.meta.dirname, "../..");

/** What pages name by a path, and users apply, install or copy. */
const released = ["LICENSE", "deploy", "examples"];
/** What builds images or runs programs of a checkout, and so is of no use without one. */
const ofCheckout = /^(deploy\/(actions|docker)|examples\/(compose|kind))\/|^examples\/[^/]+\.(ts|json)$/;

/** Packs the examples and the manifests by their paths in the repository, so that commands of the pages can be run where the archive was unpacked. */
export function packageExamples(directory: string, version: string): void {
  const staged = mkdtempSync(path.join(tmpdir(), "bunting-examples-"));
  try {
    const files = filesOfExamples();
    const isPacked = (to: string): boolean => files.some((each) => each === to || each.startsWith(`${to}/`));
    for (const file of files) {
      const target = path.join(staged, file);
      mkdirSync(path.dirname(target), { recursive: true });
      // Keeps what can be executed so.
      copyFileSync(path.join(root, file), target);
      if (!file.endsWith(".md")) continue;
      const text = readFileSync(path.join(root, file), "utf8");
      writeFileSync(target, linksOutside(text, file, { isPacked, version }));
    }
    const name = `bunting-examples-${version}`;
    writeArchive(staged, name, path.join(directory, `${name}.tgz`));
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** The files in Git, by their paths. */
export function filesOfExamples(): readonly string[] {
  const listed = run("git", ["-C", root, "ls-files", "-z", "--", ...released]).split("\0");
  return listed.filter((file) => file !== "" && !ofCheckout.test(file));
}
