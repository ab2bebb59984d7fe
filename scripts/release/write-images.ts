import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildImages, type BuiltImages } from "../images/build-images.js";
import { run } from "../images/buildah.js";
import type { OciImage } from "../images/oci-image.js";
import { mergeLayouts } from "./merge-layouts.js";

/**
 * Writes the images of the last commit, each as an OCI layout with both architectures, and beside it the bill of materials of what it runs. The other
 * architecture's image can't be run here.
 */
export function writeImages(directory: string, version: string): void {
  const [amd64, arm64] = [built(buildImages("amd64")), built(buildImages("arm64"))];
  mkdirSync(directory, { recursive: true });
  for (const service of ["agent", "proxy", "operator"] as const) {
    mergeLayouts([amd64[service], arm64[service]], version, path.join(directory, service));
    const bill = `bunting-${service}.cdx.json`;
    writeFileSync(path.join(directory, bill), fileOf(amd64[service], `app/${bill}`));
  }
}

function built(images: ReturnType<typeof buildImages>): BuiltImages {
  if ("missing" in images) throw new Error(`there are no images: ${images.missing}`);
  return images;
}

function fileOf({ layers }: OciImage, name: string): string {
  const layer = layers.findLast(({ file }) => run("tar", ["-tzf", file]).split("\n").includes(name));
  if (layer === undefined) throw new Error(`no layer of the image has ${name}`);
  return run("tar", ["-xzOf", layer.file, name]);
}
