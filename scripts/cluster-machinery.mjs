// Builds etcd, kube-apiserver, kube-controller-manager and kubectl from the Go module test/cluster/machinery (dependencies only, no Go source of
// ours), and keeps them outside of the tree: a build takes minutes, and its result depends on nothing but go.mod, go.sum and the version of Go.
// By itself (`node scripts/cluster-machinery.mjs`) it prints the directory that they are in.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const module = path.join(path.dirname(import.meta.dirname), "test/cluster/machinery");
const leastGo = [1, 26];

/**
 * Resolves with `{ directory }` of the binaries, or with `{ missing }`: a sentence on what they could not be built without. Ends the process
 * where they should have been built and were not.
 */
export async function buildMachinery() {
  const go = goVersion();
  if (go === undefined || !isEnough(go)) {
    const there = go === undefined ? "there is no `go` here" : `this is ${go}`;
    return { missing: `building one takes Go ${leastGo.join(".")} or newer, and ${there}.` };
  }
  const cache =
    process.env.BUNTING_CLUSTER_CACHE ??
    path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache"), "bunting/cluster");
  const directory = path.join(cache, keyOf(go));
  if (!existsSync(directory)) {
    await build(cache, directory).catch((error) => {
      console.error(`bunting: ${error.message}`);
      process.exit(1);
    });
  }
  return { directory };
}

function goVersion() {
  try {
    // Not the toolchain that go.mod asks for: finding out must not download anything.
    const env = { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off" };
    return execFileSync("go", ["env", "GOVERSION"], {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}

function isEnough(version) {
  const [, major = 0, minor = 0] = (/^go(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return major > leastGo[0] || (major === leastGo[0] && minor >= leastGo[1]);
}

function keyOf(go) {
  const digest = createHash("sha256").update(`${go} ${process.platform} ${process.arch}`);
  for (const file of ["go.mod", "go.sum"]) digest.update("\0").update(readFileSync(path.join(module, file)));
  return digest.digest("hex").slice(0, 16);
}

/** Into a directory beside its place, and then there in one step: whoever finds it finds all of it. */
async function build(cache, directory) {
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(path.join(cache, ".building-"));
  const discard = () => rmSync(unfinished, { recursive: true, force: true });
  try {
    await goBuild(unfinished);
    if (!existsSync(directory)) renameSync(unfinished, directory);
  } catch (error) {
    // Somebody else may have built the same at the same time.
    if (!existsSync(directory)) throw error;
  } finally {
    discard();
  }
}

function goBuild(output) {
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(path.join(module, "go.mod"), "utf8"))?.[1];
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  const args = [
    "build",
    "-v",
    "-mod=readonly",
    "-buildvcs=false",
    "-trimpath",
    "-pgo=off",
    `-ldflags=${flags}`,
  ];
  const go = spawn("go", [...args, "-o", `${output}/`, "tool"], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const stop = () => go.pid !== undefined && process.kill(-go.pid, "SIGKILL");
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  const progress = new Progress(
    `building Kubernetes ${version} for the cluster tests (once; 4 minutes on two cores)`,
  );
  const tail = [];
  // With -v go names each package that it downloads or compiles.
  createInterface(go.stderr).on("line", (line) => {
    progress.count(line.startsWith("go: downloading") ? "modules" : "packages");
    // A name is all it says of a package that compiles; what has blanks is worth repeating.
    if (line.includes(" ")) tail.push(line);
    if (tail.length > 30) tail.shift();
  });
  return new Promise((resolve, reject) => {
    go.once("error", reject);
    go.once("close", (code, signal) => {
      process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
      progress.end(code === 0 ? "done" : "failed");
      if (code === 0) resolve();
      else
        reject(
          new Error(
            `go build in test/cluster/machinery ended with ${signal ?? code}${tail.map((line) => `\n${line}`).join("")}`,
          ),
        );
    });
  });
}

/** One line that moves on a terminal, a line every half minute elsewhere. */
class Progress {
  #what;
  #since = Date.now();
  #counts = { modules: 0, packages: 0 };
  #timer;

  constructor(what) {
    this.#what = what;
    process.stderr.write(`bunting: ${what} …\n`);
    this.#timer = setInterval(() => this.#show(), process.stderr.isTTY ? 1_000 : 30_000);
  }

  count(word) {
    this.#counts[word]++;
  }

  #show() {
    const line = `bunting: ${this.#seconds()} s, ${this.#counts.modules} modules fetched, ${this.#counts.packages} packages compiled`;
    process.stderr.write(process.stderr.isTTY ? `\r${line}` : `${line}\n`);
  }

  end(how) {
    clearInterval(this.#timer);
    if (process.stderr.isTTY) process.stderr.write("\n");
    process.stderr.write(`bunting: ${this.#what}: ${how} after ${this.#seconds()} s\n`);
  }

  #seconds() {
    return Math.round((Date.now() - this.#since) / 1000);
  }
}

if (process.argv[1] === import.meta.filename) {
  const { directory, missing } = await buildMachinery();
  if (missing !== undefined) {
    console.error(`bunting: no real API server: ${missing}`);
    process.exitCode = 1;
  } else console.log(directory);
}
