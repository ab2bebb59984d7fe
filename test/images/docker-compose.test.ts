import { execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect } from "chai";
import { buildImage } from "../../scripts/images/base-images.js";
import { buildImages } from "../../scripts/images/build-images.js";
import { buildah, missingForImages, whileNoOtherBuilds } from "../../scripts/images/buildah.js";
import { refusalOf } from "../../scripts/required-parts.js";
import { EventQueue } from "../support/event-queue.js";
import { blockWith } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";
import { checkOutInto } from "./support/checkout.js";
import { buildCompose } from "./support/compose-plugin.js";
import { DockerDaemon } from "./support/docker-daemon.js";

const page = "docs/start/docker-compose.md";
const run = promisify(execFile);

/**
 * By Docker's daemon and its Compose plugin. The images are there before, made by the same Dockerfiles on base images of our own, because no registry
 * need be within reach: so the page's `--build` is left out.
 */
describe("docs/start/docker-compose.md", function () {
  this.timeout(1_800_000);
  const directory = new TempDirectory();
  let docker: DockerDaemon | undefined;

  before(async function () {
    const compose = await buildCompose();
    const missing =
      missingForImages("skopeo", "dockerd", "docker") ?? ("missing" in compose ? compose.missing : undefined);
    if (missing !== undefined || "missing" in compose) {
      const refusal = refusalOf("docker", missing ?? "");
      if (refusal !== undefined) throw new Error(refusal);
      this.skip();
    }
    const images = buildImages();
    if ("missing" in images) throw new Error(images.missing);
    docker = new DockerDaemon(path.join(compose.directory, "cmd"));
    await docker.untilReady();
    for (const name of ["proxy", "agent"] as const)
      docker.load(`${images[name].layout}:${name}`, `bunting-${name}:latest`);
    // Debian with node, in place of Alpine with it.
    const node = directory.file("node");
    whileNoOtherBuilds(() => buildah("push", buildImage(), `oci:${node}:node`));
    docker.load(`${node}:node`, "node:24-alpine");
    checkOutInto(directory);
  });
  after(async () => {
    await docker?.stop();
    directory.remove();
  });

  it("starts the three services, whose application sees an edit, and tells who has what", async () => {
    const options = { cwd: directory.file("checkout"), env: docker?.environment };
    const lines = new EventQueue<string>();
    const up = spawn(
      "bash",
      ["-c", `exec ${blockWith(page, " up --build").trim().replace("--build", "--no-build")}`],
      {
        ...options,
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const closed = new Promise<void>((resolve) => up.once("close", () => resolve()));
    const printed = (line: string, withinMs?: number): Promise<unknown> =>
      Promise.race([
        lines.nextMatching((each) => each.endsWith(`| ${line}`), line, withinMs),
        closed.then(() => expect.fail(`it ended before "${line}"`)),
      ]);
    const output: string[] = [];
    for (const stream of [up.stdout, up.stderr])
      createInterface(stream).on("line", (line) => {
        output.push(line);
        lines.push(line);
      });
    try {
      await printed("new-welcome = false", 120_000);

      const file = path.join(options.cwd, "examples/flags/storefront.yaml");
      const edited = readFileSync(file, "utf8").replace('defaultVariant: "off"', 'defaultVariant: "on"');
      // In place, as the page says it: an editor's rename would be another file for a container, if the file itself were mounted.
      writeFileSync(file, edited);
      await printed("new-welcome = true");

      const { stdout } = await run("bash", ["-ec", blockWith(page, " exec proxy")], options);
      expect(stdout).to.include("default/storefront");
    } catch (error) {
      throw new Error(`it said:\n${output.slice(-30).join("\n")}`, { cause: error });
    } finally {
      await run("docker", ["compose", "-f", "examples/compose/compose.yaml", "down"], options);
      await closed;
    }
  });
});
