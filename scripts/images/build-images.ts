/**
 * `npm run images`: builds the images from the last commit, as on a machine that reaches a registry, but on base images made here
 * (base-images.ts). What has not changed since the last time is not built again. Others import `buildImages`.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { CacheEntry } from "../cache-entry.js";
import { buildImage, hostArchitecture, runtimeImage, type Architecture } from "./base-images.js";
import { imageBudgetsMiB } from "./image-budgets.js";
import { buildah, imageCache, missingForImages, report, run, whileNoOtherBuilds } from "./buildah.js";
import { readOciImage, type OciBlob, type OciImage } from "./oci-image.js";

const root = path.resolve(import.meta.dirname, "../..");
const services = ["agent", "proxy", "operator"] as const;
/** How long what a killed build has left is kept. */
const keptMs = 24 * 60 * 60_000;

export interface BuiltImages {
  readonly agent: OciImage;
  readonly proxy: OciImage;
  readonly operator: OciImage;
  /** What they are based on: node without a shell. */
  readonly runtime: OciImage;
  /** The commit that they were built from. */
  readonly revision: string;
}

/** Builds the images of the last commit for an architecture, or returns a sentence that says what is needed to build them. */
export function buildImages(
  architecture: Architecture = hostArchitecture,
): BuiltImages | { readonly missing: string } {
  const missing = missingForImages();
  if (missing !== undefined) return { missing };
  const revision = git("rev-parse", "HEAD");
  const layout = whileNoOtherBuilds(() => {
    const runtime = runtimeImage(architecture);
    const key = createHash("sha256")
      .update(`${revision} ${runtime}`)
      .update(readFileSync(import.meta.filename));
    const entry = new CacheEntry("images/layouts", key.digest("hex").slice(0, 16));
    return entry.getSync((unfinished) => build(architecture, revision, runtime, unfinished));
  });
  const read = (name: string): OciImage => readOciImage(layout, name);
  const [agent, proxy, operator] = [read("agent"), read("proxy"), read("operator")];
  return { agent, proxy, operator, runtime: read("runtime"), revision };
}

/** The layers that an image adds to its base. */
export function ownLayers(image: OciImage, base: OciImage): readonly OciBlob[] {
  return image.layers.slice(base.layers.length);
}

/** What these layers take in a registry and in a container, in bytes. */
export function ownSizes(image: OciImage, base: OciImage): readonly [packed: number, unpacked: number] {
  const layers = ownLayers(image, base);
  const unpacked = layers.map(({ file }) => gunzipSync(readFileSync(file)).length);
  return [layers.reduce((sum, { size }) => sum + size, 0), unpacked.reduce((sum, size) => sum + size, 0)];
}

function build(architecture: Architecture, revision: string, runtime: string, layout: string): void {
  report(`building the images for ${architecture}`);
  const checkout = mkdtempSync(path.join(imageCache, "checkout-"));
  try {
    const archive = path.join(checkout, "archive.tar");
    git("archive", "--output", archive, revision);
    run("tar", ["-C", checkout, "-xf", archive]);
    rmSync(archive);
    const common = [
      ["--layers", "--pull=never", "--platform", `linux/${architecture}`],
      ["--build-arg", `BUILDPLATFORM=linux/${hostArchitecture}`],
      ["--build-arg", `BUILD_IMAGE=${buildImage()}`],
      ["--build-arg", `RUNTIME_IMAGE=${runtime}`],
      ["--build-arg", `REVISION=${revision}`],
      // buildah 1.28 takes the step that sets this label from its cache though the argument differs: an image of the same files, of another commit.
      ["--label", `org.opencontainers.image.revision=${revision}`],
      ["--label", `org.opencontainers.image.created=${git("show", "--no-patch", "--format=%cI", revision)}`],
      // The same files give the same layer. The commit's time would not do: buildah takes a layer from its cache with the time of the commit
      // that it was first built from, which can differ between two architectures.
      ["--timestamp", "0"],
    ].flat();
    const push = (image: string, name: string): unknown => buildah("push", image, `oci:${layout}:${name}`);
    for (const service of services) {
      const dockerfile = path.join(checkout, `deploy/docker/${service}.Dockerfile`);
      // By its number: a name could be given to another commit's image meanwhile, in another checkout.
      const number = path.join(layout, "number");
      buildah("build", ...common, "--file", dockerfile, "--iidfile", number, checkout);
      push(readFileSync(number, "utf8").trim(), service);
      rmSync(number);
    }
    push(runtime, "runtime");
    sweep();
  } finally {
    rmSync(checkout, { recursive: true, force: true });
  }
}

/** Removes what earlier builds have left, so that the cache does not grow with every commit. Layouts are removed by the cache. */
function sweep(): void {
  for (const name of readdirSync(imageCache).filter((each) => /^(checkout|making)-/.test(each))) {
    const folder = path.join(imageCache, name);
    if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true, force: true });
  }
  // buildah keeps an image of each step, of which a build has about 30.
  const steps = buildah("images", "--all", "--quiet").trim().split("\n");
  if (steps.length > 200) buildah("rmi", "--prune", "--force");
}

function git(...args: readonly string[]): string {
  return run("git", ["-C", root, ...args]).trim();
}

if (process.argv[1] === import.meta.filename) {
  const images = buildImages();
  if ("missing" in images) throw new Error(`no images: ${images.missing}`);
  for (const service of services) {
    const [packed, unpacked] = ownSizes(images[service], images.runtime).map((bytes) =>
      (bytes / 2 ** 20).toFixed(2),
    );
    console.log(`${service}: base + ${packed} MiB, ${unpacked} unpacked, of ${imageBudgetsMiB[service]}`);
  }
  console.log(`in ${images.agent.layout}, from ${images.revision}`);
}
