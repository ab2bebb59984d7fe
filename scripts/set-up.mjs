// @ts-check
/**
 * Installs the dependencies and, with `--build`, bundles the programs; each only if what it reads has changed since the last time. It says nothing when
 * there is nothing to do. This script is in plain JavaScript: on a fresh checkout it runs before tsx is installed, and Node 20 can't
 * run TypeScript by itself.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const stamps = path.join(root, "node_modules/.bunting");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Bunting needs Node 20.19 or newer; this is ${process.version}.`);
  process.exit(1);
}

const pnpm = /"packageManager": "([^"]+)"/.exec(readFileSync(path.join(root, "package.json"), "utf8"))?.[1];
if (pnpm === undefined) throw new Error("package.json names no packageManager");
const tools = ["typescript", "tsx", "esbuild", "mocha"].map((name) => path.join(root, "node_modules", name));
unlessUnchanged("install", "installing dependencies", manifests(), tools, () => {
  run("npx", ["--yes", pnpm, "install", "--frozen-lockfile", "--prefer-offline"]);
});
if (process.argv.includes("--build")) {
  const binaries = [
    "packages/proxy/dist/bunting-proxy.cjs",
    "packages/operator/dist/bunting-operator.cjs",
    "packages/agent/dist/bunting-agent.cjs",
    "packages/agent/dist/start-agent.cjs",
    "packages/cli/dist/bundle/bunting.mjs",
  ];
  unlessUnchanged("build", "building", sources(), binaries, () => {
    // From the sources: what `tsc -b` makes is read only by the packages that are published, and takes ten times as long.
    run(process.execPath, ["--import=tsx", "scripts/bundle.ts"]);
    run(process.execPath, ["--import=tsx", "scripts/bundle-cli.ts"]);
  });
}

/**
 * Runs a step unless the files it reads are as they were when it last succeeded, and its results are there.
 *
 * @param {string} name
 * @param {string} doing
 * @param {readonly string[]} inputs
 * @param {readonly string[]} results
 * @param {() => void} step
 */
function unlessUnchanged(name, doing, inputs, results, step) {
  const stamp = path.join(stamps, name);
  const digest = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const file of inputs) digest.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  const now = digest.digest("hex");
  const areThere = results.every((file) => existsSync(path.resolve(root, file)));
  if (areThere && existsSync(stamp) && readFileSync(stamp, "utf8") === now) return;
  const sinceMs = Date.now();
  console.log(`bunting: ${doing} …`);
  step();
  mkdirSync(stamps, { recursive: true });
  writeFileSync(stamp, now);
  console.log(`bunting: ${doing}: done in ${((Date.now() - sinceMs) / 1000).toFixed(1)} s`);
}

function manifests() {
  const folders = [...packages(), "test", "bench", "examples", "scripts"];
  return [
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ...folders.map((folder) => `${folder}/package.json`),
  ];
}

function sources() {
  const scripts = [
    "bundle",
    "bundle-cli",
    "bundled-packages",
    "sbom",
    "write-bill",
    "leave-out",
    "left-out-of-agent",
    "load-on-demand",
    "code-cache/bundle-id",
  ];
  const files = ["pnpm-lock.yaml", "tsconfig.base.json"];
  files.push(...scripts.map((name) => `scripts/${name}.ts`));
  for (const file of ["start-agent", "load-node-modules", "cached-script"])
    files.push(`packages/agent/launch/${file}.cjs`);
  for (const folder of packages()) {
    files.push(`${folder}/package.json`, `${folder}/tsconfig.json`);
    for (const file of readdirSync(path.join(root, folder, "src"), { recursive: true, encoding: "utf8" })) {
      if (file.endsWith(".ts") && !/\.(test|fixture|child)\.ts$/.test(file))
        files.push(`${folder}/src/${file}`);
    }
  }
  return files.sort();
}

function packages() {
  return readdirSync(path.join(root, "packages"))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(path.join(root, folder, "package.json")))
    .sort();
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(command, args) {
  // CI=true keeps pnpm from asking questions, even where it would replace node_modules.
  const env = { ...process.env, CI: "true" };
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env,
  });
  if (status === 0) return;
  const reason = error?.message ?? `exit ${status ?? "by a signal"}; the output above says why`;
  console.error(`bunting: ${[command, ...args].join(" ")} failed (${reason}).`);
  process.exit(1);
}
