import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "../cache-directory.js";
import { withLockSync } from "../lock-file.js";

/** Where images, layers and what they are made of are kept. */
export const imageCache = cacheDirectory("images");

/** Does the work while no other process of this machine builds images, so that none makes what another is making. */
export function whileNoOtherBuilds<T>(work: () => T): T {
  mkdirSync(imageCache, { recursive: true });
  return withLockSync(path.join(imageCache, ".lock"), work);
}

/** What this machine lacks to build images, as a sentence; undefined if it has everything. `more` names programs that are needed, too. */
export function missingForImages(...more: readonly string[]): string | undefined {
  if (process.platform !== "linux") return "images are built on Linux only";
  if (process.getuid?.() !== 0) return "it takes root, to make root file systems";
  const absent = ["buildah", "mmdebstrap", ...more].filter((name) => !isOnPath(name));
  return absent.length > 0
    ? `${absent.join(" and ")} can't be found: install Debian's packages of these names`
    : undefined;
}

/**
 * Runs buildah on a storage of our own, and returns what it printed. Its containers are chroots: this needs no runtime, and works where
 * namespaces are refused.
 *
 * @throws Error with the end of its output if it fails.
 */
export function buildah(...args: readonly string[]): string {
  // The second folder has what is valid until the machine is started again.
  const storage = ["--root", path.join(imageCache, "storage"), "--runroot", "/run/bunting-images"];
  return run("buildah", [...storage, ...args], { BUILDAH_ISOLATION: "chroot" });
}

/**
 * Runs a program and returns what it printed.
 *
 * @throws Error with the end of its output if it fails.
 */
export function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    env: { ...process.env, ...environment },
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (status === 0) return stdout;
  const output = `${stdout}\n${stderr}`.trimEnd().split("\n").slice(-40).join("\n");
  const reason = error?.message ?? `ended with ${signal ?? status ?? "nothing"}`;
  throw new Error(`${command} ${args.join(" ")}: ${reason}\n${output}`);
}

/** Says what takes long, on stderr. */
export function report(what: string): void {
  process.stderr.write(`bunting: ${what} …\n`);
}

function isOnPath(name: string): boolean {
  return (process.env["PATH"] ?? "").split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
