// Sets a fresh checkout up with nothing but Node and npm: dependencies, then the build, each only if what it reads has changed.
// `--then start` runs the demonstration afterwards, `--then test` the tests; further arguments go to them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const pnpm = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).packageManager;
const stamps = path.join(root, "node_modules/.bunting");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Bunting needs Node 20.19 or newer; this is ${process.version}.`);
  process.exit(1);
}

const quick = process.argv.indexOf("--then");
const [task, ...rest] = quick < 0 ? [] : process.argv.slice(quick + 1);

await unlessUnchanged("dependencies", manifests(), existsSync(path.join(root, "node_modules/.bin/tsc")), () =>
  run("npx", ["--yes", pnpm, "install", "--frozen-lockfile", "--prefer-offline"]),
);
await unlessUnchanged("build", sources(), builds().every(existsSync), () =>
  run(process.execPath, [path.join(root, "scripts/build.mjs")]),
);
if (task === "start")
  await become(process.execPath, [
    "--conditions=@bunting/source",
    "--import=tsx",
    "examples/start.ts",
    ...rest,
  ]);
if (task === "test") await become(process.execPath, ["scripts/test.mjs", ...rest]);

/** Runs a step if the files it reads differ from the last time it went through, and says what it does meanwhile. */
async function unlessUnchanged(name, files, isThere, step) {
  const stamp = path.join(stamps, name);
  const digest = createHash("sha256");
  for (const file of files) digest.update(file).update("\0").update(readFileSync(file));
  const now = digest.update(process.version).digest("hex");
  if (isThere && existsSync(stamp) && readFileSync(stamp, "utf8") === now) return;
  const since = Date.now();
  console.log(`bunting: ${name} …`);
  await step();
  mkdirSync(stamps, { recursive: true });
  writeFileSync(stamp, now);
  console.log(`bunting: ${name} done in ${((Date.now() - since) / 1000).toFixed(1)} s`);
}

function manifests() {
  const folders = [
    "",
    ...packages().map((name) => `packages/${name}`),
    "test",
    "bench",
    "examples",
    "scripts",
  ];
  return [
    ...folders.map((folder) => path.join(root, folder, "package.json")),
    path.join(root, "pnpm-lock.yaml"),
  ];
}

function sources() {
  const scripts = ["build", "leave-out", "left-out-of-agent", "load-on-demand"].map(
    (name) => `scripts/${name}.mjs`,
  );
  const files = ["tsconfig.base.json", "tsconfig.json", ...scripts].map((file) => path.join(root, file));
  for (const name of packages()) {
    const folder = path.join(root, "packages", name);
    files.push(path.join(folder, "package.json"), path.join(folder, "tsconfig.build.json"));
    const entries = readdirSync(path.join(folder, "src"), { recursive: true, withFileTypes: true });
    files.push(
      ...entries
        .filter(
          (entry) =>
            entry.isFile() && entry.name.endsWith(".ts") && !/\.(test|fixture|child)\.ts$/.test(entry.name),
        )
        .map((entry) => path.join(entry.parentPath, entry.name)),
    );
  }
  return files.sort();
}

function builds() {
  return [
    path.join(root, "packages/proxy/dist/main.js"),
    path.join(root, "packages/agent/dist/bunting-agent.cjs"),
  ];
}

function packages() {
  return readdirSync(path.join(root, "packages")).sort();
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: environment(),
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0) resolve();
      else {
        console.error(
          `bunting: ${[command, ...args].join(" ")} failed (exit ${code}). What it printed above says why.`,
        );
        process.exit(1);
      }
    });
  });
}

/** CI=true makes pnpm ask nothing, even where it would replace node_modules. */
function environment() {
  return { ...process.env, CI: "true", npm_config_yes: "true" };
}

/**
 * Runs the task in this process's stead. Ctrl-C reaches the whole foreground group, so the child gets it by itself; a SIGTERM sent to
 * this process alone is passed on.
 */
function become(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit" });
    process.on("SIGINT", () => undefined);
    process.on("SIGTERM", () => child.kill("SIGTERM"));
    child.once("exit", (code, signal) => {
      process.exitCode = code ?? (signal === "SIGINT" ? 130 : 1);
      resolve();
    });
  });
}
