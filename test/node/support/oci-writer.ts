import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { readOciImage, type OciConfig, type OciImage } from "../../../scripts/images/oci-image.js";

/** The name of the only image in each layout. */
const imageName = "image";
const oci = "application/vnd.oci.image";
const architecture = process.arch === "arm64" ? "arm64" : "amd64";

/** The content of a layer: path in the image → a file or folder of this machine. */
export type LayerFiles = Readonly<Record<string, string>>;

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Writes an image made of files of this machine, as a layout directory of its own, which must not exist. */
export function writeImage(
  layout: string,
  config: OciConfig["config"],
  layers: readonly LayerFiles[],
): OciImage {
  mkdirSync(path.join(layout, "blobs/sha256"), { recursive: true });
  const descriptors = layers.map((files) => addLayer(layout, files));
  // Layers are not compressed, so a layer's digest is that of its content.
  const rootfs = { type: "layers", diff_ids: descriptors.map(({ digest }) => digest) };
  const settings: OciConfig & { readonly rootfs: unknown } = { architecture, os: "linux", config, rootfs };
  finish(layout, settings, descriptors);
  return readOciImage(layout, imageName);
}

/** An image that differs from another by a label only, for tests that change the image of a running container. Its layers stay where they are. */
export function relabelImage(
  image: OciImage,
  layout: string,
  labels: Readonly<Record<string, string>>,
  entrypoint?: readonly string[],
): OciImage {
  mkdirSync(path.join(layout, "blobs/sha256"), { recursive: true });
  const { settings } = image;
  const config = {
    ...settings.config,
    Labels: { ...settings.config.Labels, ...labels },
    ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }),
  };
  const layers = image.layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size }));
  finish(layout, { ...settings, config }, layers);
  return { ...readOciImage(layout, imageName), layers: image.layers };
}

/** Writes the configuration, the manifest and the index. */
function finish(layout: string, settings: OciConfig, layers: readonly Descriptor[]): void {
  const mediaType = `${oci}.manifest.v1+json`;
  const config = addText(layout, `${oci}.config.v1+json`, settings);
  const manifest = addText(layout, mediaType, { schemaVersion: 2, mediaType, config, layers });
  const annotations = { "org.opencontainers.image.ref.name": imageName };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] };
  writeFileSync(path.join(layout, "index.json"), JSON.stringify(index));
}

function addText(layout: string, mediaType: string, content: unknown): Descriptor {
  const text = JSON.stringify(content);
  const digest = digestOf(text);
  writeFileSync(blobFile(layout, digest), text);
  return { mediaType, digest, size: Buffer.byteLength(text) };
}

function addLayer(layout: string, files: LayerFiles): Descriptor {
  const root = path.join(layout, "root");
  const tar = path.join(layout, "layer.tar");
  for (const [name, from] of Object.entries(files)) {
    const target = path.join(root, name);
    mkdirSync(path.dirname(target), { recursive: true });
    cpSync(from, target, { recursive: true, dereference: true });
  }
  execFileSync("tar", ["-C", root, "--owner=0", "--group=0", "--numeric-owner", "-cf", tar, "."]);
  rmSync(root, { recursive: true });
  const digest = digestOf(readFileSync(tar));
  const { size } = statSync(tar);
  renameSync(tar, blobFile(layout, digest));
  return { mediaType: `${oci}.layer.v1.tar`, digest, size };
}

function blobFile(layout: string, digest: string): string {
  return path.join(layout, "blobs", digest.replace(":", "/"));
}

function digestOf(content: string | Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
