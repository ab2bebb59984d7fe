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

/** By digest: images share the layers of their base, which take a second each. */
const listed = new Map<string, readonly LayerFile[]>();

/** What a layer contains. */
export function layerFiles(layer: OciBlob): readonly LayerFile[] {
  const known = listed.get(layer.digest) ?? list(layer);
  listed.set(layer.digest, known);
  return known;
}

function list({ file }: OciBlob): LayerFile[] {
  const lines = execFileSync("tar", ["--numeric-owner", "-tvzf", file], { encoding: "utf8" });
  return lines
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
