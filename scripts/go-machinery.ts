/**
 * Builds tools of a Go module: its dependencies, or small programs of its own. The binaries are kept outside of the tree: a build takes
 * minutes, and its result depends only on the files of the module and the version of Go.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { CacheEntry } from "./cache-entry.js";
import { Progress } from "./progress.js";

const root = path.dirname(import.meta.dirname);
const leastGo = { major: 1, minor: 26 };

/** Where the binaries are, or a sentence that says what is needed to build them. */
export type Machinery = { readonly directory: string } | { readonly missing: string };

export interface GoTools {
  /** Their name in the cache. */
  readonly name: string;
  /** The folder of the go.mod, from the root of the repository, or absolute. */
  readonly module: string;
  /** Programs: packages of dependencies, or `./folder` for one of the module's own. */
  readonly packages: readonly string[];
  /** What is built, for the progress: "Kubernetes v1.36.4 (once; 4 minutes on two cores)". */
  readonly what: string;
  /** Such as `-X package.version=v1`. */
  readonly linkerFlags?: string;
}

/** The version that a go.mod requires of a module. */
export function requiredVersion(directory: string, module: string): string {
  const goMod = readFileSync(path.join(root, directory, "go.mod"), "utf8");
  const words = goMod.split("\n").map((line) => line.trim().split(/\s+/));
  return words.find(([name, version = ""]) => name === module && version.startsWith("v"))?.[1] ?? "";
}

/** Builds the tools unless they are in the cache. Rejects if the build fails. */
export async function buildGoTools(tools: GoTools): Promise<Machinery> {
  const go = goVersion();
  if (go === undefined || !isNewEnough(go)) {
    const found = go === undefined ? "there is no `go` here" : `this is ${go}`;
    return { missing: `building it takes Go ${leastGo.major}.${leastGo.minor} or newer, and ${found}.` };
  }
  const entry = new CacheEntry(tools.name, keyOf(tools, go));
  return { directory: await entry.get((unfinished) => goBuild(tools, unfinished)) };
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

function keyOf({ module, packages, linkerFlags }: GoTools, go: string): string {
  const digest = createHash("sha256").update(`${go} ${process.platform} ${process.arch}`);
  digest.update(JSON.stringify([packages, linkerFlags]));
  const directory = path.resolve(root, module);
  const own = packages.filter((name) => name.startsWith("./")).flatMap((name) => sourcesOf(directory, name));
  for (const file of ["go.mod", "go.sum", ...own]) {
    digest.update("\0").update(readFileSync(path.join(directory, file)));
  }
  return digest.digest("hex").slice(0, 16);
}

function sourcesOf(directory: string, folder: string): string[] {
  const files = readdirSync(path.join(directory, folder), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".go"))
    .sort()
    .map((file) => path.join(folder, file));
}

async function goBuild(tools: GoTools, output: string): Promise<void> {
  const ldflags = `-ldflags=-s -w ${tools.linkerFlags ?? ""}`;
  // Nobody debugs these programs, and compiling takes 8 % less without DWARF, which stack traces do not need.
  const compilerFlags = "-gcflags=all=-dwarf=false";
  const flags = ["-v", "-mod=readonly", "-buildvcs=false", "-trimpath", "-pgo=off", compilerFlags, ldflags];
  const go = spawn("go", ["build", ...flags, "-o", `${output}/`, ...tools.packages], {
    cwd: path.resolve(root, tools.module),
    env: { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const stop = (): void => {
    if (go.pid !== undefined) process.kill(-go.pid, "SIGKILL");
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const progress = new Progress(`building ${tools.what}`);
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
    throw new Error([`go build in ${tools.module} ended with ` + String(result), ...tail].join("\n"));
  }
}
