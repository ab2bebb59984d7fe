/**
 * Builds etcd, kube-apiserver, kube-controller-manager and kubectl from the Go module test/cluster/machinery, which holds dependencies only
 * and no Go source. The binaries are kept outside of the tree: a build takes minutes, and its result depends only on go.mod, go.sum and the
 * version of Go. Run as a script (`node --import=tsx scripts/cluster-machinery.ts`), it prints the directory of the binaries.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { cacheDirectory } from "./cache-directory.js";
import { Progress } from "./progress.js";

const module = path.join(path.dirname(import.meta.dirname), "test/cluster/machinery");
const leastGo = { major: 1, minor: 26 };

/** Where the binaries are, or a sentence that says what is needed to build them. */
export type Machinery = { readonly directory: string } | { readonly missing: string };

/** Builds the binaries unless they are in the cache. Rejects if the build fails. */
export async function buildMachinery(): Promise<Machinery> {
  const go = goVersion();
  if (go === undefined || !isNewEnough(go)) {
    const found = go === undefined ? "there is no `go` here" : `this is ${go}`;
    return { missing: `building one takes Go ${leastGo.major}.${leastGo.minor} or newer, and ${found}.` };
  }
  const cache = process.env["BUNTING_CLUSTER_CACHE"] ?? cacheDirectory("cluster");
  const directory = path.join(cache, keyOf(go));
  if (!existsSync(directory)) await build(cache, directory);
  return { directory };
}

function goVersion(): string | undefined {
  try {
    // GOTOOLCHAIN=local, because asking for the version must not download the toolchain that go.mod names.
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

function isNewEnough(version: string): boolean {
  const [, major = 0, minor = 0] = (/^go(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return major > leastGo.major || (major === leastGo.major && minor >= leastGo.minor);
}

function keyOf(go: string): string {
  const digest = createHash("sha256").update(`${go} ${process.platform} ${process.arch}`);
  for (const file of ["go.mod", "go.sum"]) digest.update("\0").update(readFileSync(path.join(module, file)));
  return digest.digest("hex").slice(0, 16);
}

/** Builds into a directory beside the final one and renames it at the end, so that the final one is never found half-built. */
async function build(cache: string, directory: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(path.join(cache, ".building-"));
  try {
    await goBuild(unfinished);
    if (!existsSync(directory)) renameSync(unfinished, directory);
  } catch (error) {
    // Another process may have finished the same build meanwhile.
    if (!existsSync(directory)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function goBuild(output: string): Promise<void> {
  const goMod = readFileSync(path.join(module, "go.mod"), "utf8");
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(goMod)?.[1] ?? "";
  const ldflags = `-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  const flags = ["-v", "-mod=readonly", "-buildvcs=false", "-trimpath", "-pgo=off", ldflags];
  const go = spawn("go", ["build", ...flags, "-o", `${output}/`, "tool"], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const stop = (): void => {
    if (go.pid !== undefined) process.kill(-go.pid, "SIGKILL");
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const progress = new Progress(
    `building Kubernetes ${version} for the cluster tests (once; 4 minutes on two cores)`,
  );
  const tail: string[] = [];
  // With -v, go names each package that it downloads or compiles.
  createInterface(go.stderr).on("line", (line) => {
    progress.count(line.startsWith("go: downloading") ? "modules" : "packages");
    // A line without blanks is the name of a package being compiled; every other line may explain a failure.
    if (line.includes(" ")) tail.push(line);
    if (tail.length > 30) tail.shift();
  });
  const result = await new Promise<number | string | null>((resolve, reject) => {
    go.once("error", reject);
    go.once("close", (code, signal) => resolve(signal ?? code));
  });
  process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  progress.end(result === 0 ? "done" : "failed");
  if (result !== 0) {
    throw new Error(["go build in test/cluster/machinery ended with " + String(result), ...tail].join("\n"));
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    const machinery = await buildMachinery();
    if ("missing" in machinery) throw new Error(`no real API server: ${machinery.missing}`);
    console.log(machinery.directory);
  } catch (error) {
    console.error(`bunting: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
