import { readFileSync } from "node:fs";
import path from "node:path";

/** A blob of an OCI image layout. */
export interface OciBlob {
  readonly mediaType: string;
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
  readonly file: string;
}

/** The parts of an image's configuration that we read. */
export interface OciConfig {
  readonly architecture: string;
  readonly os: string;
  readonly config: {
    readonly User?: string;
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env?: readonly string[];
    readonly ExposedPorts?: Readonly<Record<string, unknown>>;
    readonly Labels?: Readonly<Record<string, string>>;
    readonly WorkingDir?: string;
  };
}

/** An image in a directory that has the OCI image layout. Several images may share the directory. */
export interface OciImage {
  readonly layout: string;
  readonly manifest: OciBlob;
  readonly config: OciBlob;
  /** From the lowest to the highest; tar files, packed by gzip. */
  readonly layers: readonly OciBlob[];
  readonly settings: OciConfig;
}

type Descriptor = Omit<OciBlob, "file"> & {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly architecture: string };
};

interface Index {
  readonly manifests: readonly Descriptor[];
}

/** Reads the image called `name` in a layout; of one for several platforms, that for `architecture`. */
export function readOciImage(layout: string, name: string, architecture?: string): OciImage {
  const blob = ({ mediaType, digest, size }: Descriptor): OciBlob => {
    return { mediaType, digest, size, file: path.join(layout, "blobs", digest.replace(":", "/")) };
  };
  const { manifests } = parse(path.join(layout, "index.json")) as Index;
  const named = manifests.find((each) => each.annotations?.["org.opencontainers.image.ref.name"] === name);
  const found =
    architecture === undefined || named === undefined
      ? named
      : (parse(blob(named).file) as Index).manifests.find(
          ({ platform }) => platform?.architecture === architecture,
        );
  if (found === undefined)
    throw new Error(
      `there is no image ${name} in ${layout}${architecture === undefined ? "" : ` for ${architecture}`}`,
    );
  const manifest = blob(found);
  const parts = parse(manifest.file) as {
    readonly config: Descriptor;
    readonly layers: readonly Descriptor[];
  };
  const config = blob(parts.config);
  return {
    layout,
    manifest,
    config,
    layers: parts.layers.map(blob),
    settings: parse(config.file) as OciConfig,
  };
}

function parse(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}
