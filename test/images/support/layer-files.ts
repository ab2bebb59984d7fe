import { execFileSync } from "node:child_process";
import type { OciBlob } from "../../../scripts/images/oci-image.js";

export interface LayerFile {
  /** Without a slash at its start. */
  readonly path: string;
  /** As `ls -l` prints it. */
  readonly mode: string;
  /** As numbers. */
  readonly owner: string;
}

/** What a layer contains. */
export function layerFiles({ file }: OciBlob): LayerFile[] {
  const list = execFileSync("tar", ["--numeric-owner", "-tvzf", file], { encoding: "utf8" });
  return list
    .trim()
    .split("\n")
    .map((line) => {
      const [mode = "", owner = "", , , , ...name] = line.split(/ +/);
      return { mode, owner, path: name.join(" ").replace(/^\.\//, "") };
    });
}

/** The content of one file of a layer. */
export function layerFile({ file }: OciBlob, path: string): Buffer {
  return execFileSync("tar", ["-xzOf", file, path], { maxBuffer: 1 << 28 });
}
