import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { buildImage, hostArchitecture, runtimeImage } from "../../scripts/images/base-images.js";
import { imageCache, whileNoOtherBuilds } from "../../scripts/images/buildah.js";
import { packPackages } from "../../scripts/release/pack-packages.js";
import { WritableRegistry } from "../helm/support/writable-registry.js";
import { blockWith } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";
import { checkOutInto } from "./support/checkout.js";

const run = promisify(execFile);
const storage = ["--root", path.join(imageCache, "storage"), "--runroot", "/run/bunting-images"];

/**
 * As printed, but for the registry's name. `docker` is buildah, which takes the same arguments; it has base images made here in place of those that
 * the Dockerfiles name, because no registry need be within reach.
 */
describe("the commands of the pages that build images", function () {
  this.timeout(1_800_000);
  const directory = new TempDirectory();
  const checkout = directory.file("checkout");
  let registry: WritableRegistry;

  before(async () => {
    registry = await WritableRegistry.listen();
    const [base, runtime] = whileNoOtherBuilds(() => [buildImage(), runtimeImage(hostArchitecture)] as const);
    const platform = `linux/${hostArchitecture}`;
    const bases = { BUILDPLATFORM: platform, BUILD_IMAGE: base, RUNTIME_IMAGE: runtime };
    const common = [
      ...["--layers", "--pull=never", "--platform", platform, "--timestamp", "0"],
      ...Object.entries(bases).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    ];
    const buildah = ["buildah", ...storage].join(" ");
    const script = `#!/bin/sh -e
task=$1 && shift
case $task in
  build) exec ${buildah} build ${common.join(" ")} "$@" ;;
  push) exec ${buildah} push --tls-verify=false "$1" "docker://${registry.host}/\${1#registry.example/}" ;;
  *) exit 64 ;;
esac
`;
    writeFileSync(directory.file("docker"), script);
    chmodSync(directory.file("docker"), 0o755);
    execFileSync("buildah", [...storage, "tag", base, "docker.io/library/node:24-bookworm-slim"]);
    checkOutInto(directory);
  });
  after(() => {
    registry.close();
    directory.remove();
  });

  async function follow(lines: string): Promise<string> {
    const env = {
      ...process.env,
      BUILDAH_ISOLATION: "chroot",
      PATH: `${directory.path}:${process.env["PATH"] ?? ""}`,
    };
    const { stdout } = await run("bash", ["--norc", "-ec", lines], {
      cwd: checkout,
      env,
      maxBuffer: 1 << 28,
    });
    return stdout;
  }

  it("build and push each image of ours, as deploy/docker/README.md does", async () => {
    await follow(blockWith("deploy/docker/README.md", "docker push"));
    for (const name of ["agent", "proxy", "operator"])
      expect(registry.manifest(`bunting-${name}:0.1.0`), name).to.have.property("layers");
  });

  it("say by which digest an image is pinned", async () => {
    const inspect = blockWith("deploy/docker/README.md", "skopeo inspect")
      .replace("skopeo inspect", "skopeo inspect --tls-verify=false")
      .replace(/docker:\/\/\S+/, `docker://${registry.host}/bunting-proxy:0.1.0`);
    // The registry keeps what is pushed by its digest, too.
    expect(registry.manifest((await follow(inspect)).trim())).to.deep.equal(
      registry.manifest("bunting-proxy:0.1.0"),
    );
  });

  it("build and push the image of the recipes, whose programs run in it, as docs/extensions/recipes.md does", async () => {
    const [release = "", ...lines] = blockWith("docs/extensions/recipes.md", "docker push")
      .trim()
      .split("\n");
    expect(release).to.match(/^npm run release -- --dry-run --only packages$/);
    const packages = path.join(checkout, "release/packages");
    mkdirSync(packages, { recursive: true });
    await packPackages(packages);
    await follow(lines.join("\n"));
    expect(registry.manifest("bunting-extensions:0.1.0")).to.have.property("layers");
    const program = `buildah ${storage.join(" ")} from --pull-never registry.example/bunting-extensions:0.1.0`;
    const container = (await follow(program)).trim();
    const shown = await follow(
      `buildah ${storage.join(" ")} run ${container} -- node -e 'import("@bunting/extension").then((it) => console.log(typeof it.serveExtension))'`,
    ).finally(() => execFileSync("buildah", [...storage, "rm", container]));
    expect(shown).to.equal("function\n");
  });
});
