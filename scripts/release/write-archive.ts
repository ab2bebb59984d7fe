import { run } from "../images/buildah.js";

/** Writes a folder as `NAME/…` into an archive `FILE`, which is the same whenever it is made of the same files. */
export function writeArchive(folder: string, name: string, file: string): void {
  const stable = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  run("tar", [
    ...stable,
    // Without the time, which gzip writes otherwise.
    "--use-compress-program=gzip -n9",
    ...["--transform", `s,^[.],${name},S`],
    ...["-C", folder, "-cf", file, "."],
  ]);
}
