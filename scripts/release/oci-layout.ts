import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

/** How a manifest or an index refers to a blob. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
}

/** An OCI image layout that is being written: https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
export class OciLayout {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(path.join(directory, "blobs/sha256"), { recursive: true });
  }

  addFile(file: string, mediaType: string): Descriptor {
    const digest = digestOf(readFileSync(file));
    copyFileSync(file, this.#blobFile(digest));
    return { mediaType, digest, size: statSync(file).size };
  }

  addJson(value: object, mediaType: string): Descriptor {
    const text = JSON.stringify(value);
    const digest = digestOf(text);
    writeFileSync(this.#blobFile(digest), text);
    return { mediaType, digest, size: Buffer.byteLength(text) };
  }

  /** Ends the layout: `descriptor` is what it holds, by the name `tag`. */
  publish(descriptor: Descriptor, tag: string): void {
    const entry = { ...descriptor, annotations: { "org.opencontainers.image.ref.name": tag } };
    const index = { schemaVersion: 2, manifests: [entry] };
    writeFileSync(path.join(this.#directory, "index.json"), JSON.stringify(index));
    writeFileSync(path.join(this.#directory, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  }

  #blobFile(digest: string): string {
    return path.join(this.#directory, "blobs", digest.replace(":", "/"));
  }
}

function digestOf(content: string | Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
