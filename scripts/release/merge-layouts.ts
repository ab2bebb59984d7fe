import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { OciBlob, OciImage } from "../images/oci-image.js";

const indexType = "application/vnd.oci.image.index.v1+json";

/**
 * Writes one OCI layout with an image for several platforms: an index of their manifests, under the name `tag`. Whoever copies the name with all that it
 * refers to has all platforms.
 */
export function mergeLayouts(images: readonly OciImage[], tag: string, target: string): void {
  mkdirSync(path.join(target, "blobs/sha256"), { recursive: true });
  for (const { manifest, config, layers } of images) {
    for (const { digest, file } of [manifest, config, ...layers])
      copyFileSync(file, blobFile(target, digest));
  }
  const index = JSON.stringify({
    schemaVersion: 2,
    mediaType: indexType,
    manifests: images.map(platformEntry),
  });
  const digest = `sha256:${createHash("sha256").update(index).digest("hex")}`;
  writeFileSync(blobFile(target, digest), index);
  const annotations = { "org.opencontainers.image.ref.name": tag };
  const entry = { mediaType: indexType, digest, size: Buffer.byteLength(index), annotations };
  writeFileSync(path.join(target, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [entry] }));
  writeFileSync(path.join(target, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
}

function platformEntry({ manifest, settings }: OciImage): object {
  const { mediaType, digest } = manifest satisfies OciBlob;
  const { architecture, os } = settings;
  const variant = architecture === "arm64" ? { variant: "v8" } : {};
  return {
    mediaType,
    digest,
    size: statSync(manifest.file).size,
    platform: { architecture, os, ...variant },
  };
}

function blobFile(layout: string, digest: string): string {
  return path.join(layout, "blobs", digest.replace(":", "/"));
}
