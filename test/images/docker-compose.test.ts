import { execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect } from "chai";
import { buildImage, hostArchitecture, runtimeImage } from "../../scripts/images/base-images.js";
import { buildah, missingForImages, whileNoOtherBuilds } from "../../scripts/images/buildah.js";
import { refusalOf } from "../../scripts/required-parts.js";
import { EventQueue } from "../support/event-queue.js";
import { blockWith } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";
import { checkOutInto } from "./support/checkout.js";
import { buildCompose } from "./support/compose-plugin.js";
import { DockerDaemon } from "./support/docker-daemon.js";

const page = "docs/start/docker-compose.md";
const composeFile = "examples/compose/compose.yaml";
const run = promisify(execFile);

/**
 * By Docker's daemon and its Compose plugin, with base images of our own in place of those that the Dockerfiles name, because no registry need be within reach. The
 * first build fetches packages, for which its daemon is in this machine's network; the page's command builds once more, from what that has left.
 */
describe("docs/start/docker-compose.md", function () {
  this.timeout(1_800_000);
  const directory = new TempDirectory();
  const data = directory.file("data");
  const checkout = directory.file("checkout");
  let docker: DockerDaemon | undefined;

  before(async function () {
    const built = await buildCompose();
    const missing =
      missingForImages("skopeo", "dockerd", "docker") ?? ("missing" in built ? built.missing : undefined);
    if (missing !== undefined || "missing" in built) {
      const refusal = refusalOf("docker", missing ?? "");
      if (refusal !== undefined) throw new Error(refusal);
      this.skip();
    }
    checkOutInto(directory);
    const compose = path.join(built.directory, "cmd");
    const builder = new DockerDaemon({ compose, data, network: "host" });
    try {
      await builder.untilReady();
      const [build, runtime] = whileNoOtherBuilds(
        () => [buildImage(), runtimeImage(hostArchitecture)] as const,
      );
      // Debian with node, in place of Alpine with it.
      load(builder, build, "build", "node:24-alpine");
      load(builder, runtime, "runtime", "runtime:latest");
      const file = path.join(checkout, composeFile);
      const bases = 'network: host, args: { BUILD_IMAGE: "node:24-alpine", RUNTIME_IMAGE: "runtime:latest" }';
      writeFileSync(file, readFileSync(file, "utf8").replaceAll("Dockerfile }", `Dockerfile, ${bases} }`));
      await run("docker", ["compose", "-f", composeFile, "build"], {
        cwd: checkout,
        env: builder.environment,
        maxBuffer: 1 << 26,
      });
    } finally {
      await builder.stop();
    }
    docker = new DockerDaemon({ compose, data, network: "own" });
    await docker.untilReady();
  });
  after(async () => {
    await docker?.stop();
    directory.remove();
  });

  function load(daemon: DockerDaemon, image: string, name: string, as: string): void {
    const layout = directory.file(name);
    whileNoOtherBuilds(() => buildah("push", image, `oci:${layout}:${name}`));
    daemon.load(`${layout}:${name}`, as);
  }

  it("starts the three services, whose application sees an edit, and tells who has what", async () => {
    const options = { cwd: checkout, env: docker?.environment };
    const lines = new EventQueue<string>();
    const up = spawn("bash", ["-c", `exec ${blockWith(page, " up --build").trim()}`], {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
    });
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
      await printed("new-welcome = false", 300_000);

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
      await run("docker", ["compose", "-f", composeFile, "down"], options);
      await closed;
    }
  });
});
