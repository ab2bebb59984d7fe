import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { OciImage } from "../../../scripts/images/oci-image.js";
import { EventQueue } from "../../support/event-queue.js";

export interface ContainerOptions {
  /** Instead of the image's ENTRYPOINT. */
  readonly entrypoint?: readonly string[];
  /** Instead of the image's CMD. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Directories of this machine by their paths in the container; read only. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** The image's files, unpacked. Several containers may run on them, because their root is read only. */
export class RootFileSystem {
  readonly image: OciImage;
  readonly directory = mkdtempSync(path.join(tmpdir(), "bunting-rootfs-"));

  constructor(image: OciImage) {
    this.image = image;
    // The container's user has to be able to enter it.
    chmodSync(this.directory, 0o755);
    for (const { file } of image.layers) execFileSync("tar", ["-C", this.directory, "-xzf", file]);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * An image run by runc as a strict Pod runs it: its own user, a root that is read only and without /tmp, no capabilities, its entry point as
 * PID 1. It shares the network of this machine.
 */
export class Container {
  readonly process: ChildProcess;
  readonly output: string[] = [];
  readonly #bundle = mkdtempSync(path.join(tmpdir(), "bunting-container-"));
  readonly #name = path.basename(this.#bundle);
  readonly #lines = new EventQueue<Readonly<Record<string, unknown>>>();
  readonly #exit: Promise<number | null>;

  constructor(root: RootFileSystem, options: ContainerOptions) {
    // Mount points have to be there before the root becomes read only.
    for (const target of Object.keys(options.mounts ?? {})) {
      mkdirSync(path.join(root.directory, target), { recursive: true });
    }
    writeFileSync(path.join(this.#bundle, "config.json"), JSON.stringify(specOf(root, options)));
    this.process = spawn("runc", ["run", "--bundle", this.#bundle, this.#name], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      if (stream !== null) createInterface(stream).on("line", (line) => this.#read(line));
    }
    this.#exit = new Promise((resolve) => this.process.once("close", resolve));
  }

  /** The ports by service, once `count` of them are open. */
  async ports(count: number): Promise<ReadonlyMap<string, number>> {
    const ports = new Map<string, number>();
    while (ports.size < count) {
      const line = await this.#lines
        .nextMatching(({ msg }) => msg === "listening", "a port")
        .catch((error: unknown) => {
          throw new Error(`${(error as Error).message}; it said:\n${this.output.join("\n")}`);
        });
      ports.set(line["service"] as string, line["port"] as number);
    }
    return ports;
  }

  /** The PID of the container's PID 1 on this machine. */
  get pid(): number {
    const state = execFileSync("runc", ["state", this.#name], { encoding: "utf8" });
    return (JSON.parse(state) as { readonly pid: number }).pid;
  }

  /** Resolves with the exit code. */
  get exit(): Promise<number | null> {
    return this.#exit;
  }

  /** Ends as the kubelet ends a container: SIGTERM for PID 1. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    execFileSync("runc", ["kill", this.#name, "TERM"]);
    return this.#exit;
  }

  /** Ends it in any case. */
  async remove(): Promise<void> {
    if (this.process.exitCode === null) {
      // Fails if it has just ended.
      spawn("runc", ["kill", this.#name, "KILL"], { stdio: "ignore" });
      await this.#exit;
    }
    rmSync(this.#bundle, { recursive: true, force: true });
  }

  #read(line: string): void {
    this.output.push(line);
    if (line.startsWith("{")) this.#lines.push(JSON.parse(line) as Readonly<Record<string, unknown>>);
  }
}

/** https://github.com/opencontainers/runtime-spec */
function specOf({ directory, image }: RootFileSystem, options: ContainerOptions): object {
  const { User = "", Entrypoint = [], Env = [], WorkingDir = "/" } = image.settings.config;
  const [uid, gid] = User.split(":").map(Number);
  const binds = Object.entries(options.mounts ?? {}).map(([destination, source]) => {
    return { destination, source, type: "bind", options: ["bind", "ro"] };
  });
  return {
    ociVersion: "1.0.2",
    root: { path: directory, readonly: true },
    process: {
      user: { uid, gid },
      args: [...(options.entrypoint ?? Entrypoint), ...options.args],
      env: [...Env, ...Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`)],
      cwd: WorkingDir,
      capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      noNewPrivileges: true,
    },
    mounts: [
      { destination: "/proc", source: "proc", type: "proc" },
      {
        destination: "/dev",
        source: "tmpfs",
        type: "tmpfs",
        options: ["nosuid", "strictatime", "mode=755", "size=64k"],
      },
      ...binds,
    ],
    linux: { namespaces: ["pid", "mount", "ipc", "uts"].map((type) => ({ type })) },
  };
}
