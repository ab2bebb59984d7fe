import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { eventually } from "./event-queue.js";

const root = "/sys/fs/cgroup/memory";
let created = 0;

/** A memory limit such as a container has: the kernel kills a process in the group that needs more. Control groups of the first version, as root. */
export class MemoryCgroup {
  readonly #path: string;

  constructor(limitBytes: number) {
    this.#path = path.join(root, `bunting-test-${process.pid}-${created++}`);
    mkdirSync(this.#path);
    writeFileSync(this.#file("memory.limit_in_bytes"), String(limitBytes));
  }

  /** Tests without it are to be skipped. */
  static get isAvailable(): boolean {
    try {
      accessSync(path.join(root, "cgroup.procs"), constants.W_OK);
      return true;
    } catch {
      return false;
    }
  }

  /** What a process is started by to be in the group, as `wrapper` of a ServiceProcess. */
  get wrapper(): readonly string[] {
    return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', this.#file("cgroup.procs")];
  }

  /** Memory without page cache, which the kernel takes back before it kills. */
  get anonymousBytes(): number {
    return this.#counted("memory.stat", "total_rss");
  }

  /** How many processes were killed because of the limit. */
  get kills(): number {
    return this.#counted("memory.oom_control", "oom_kill");
  }

  /** To be called once its processes have ended. */
  async remove(): Promise<void> {
    await eventually(() => readFileSync(this.#file("cgroup.procs"), "utf8") === "", "the group is empty");
    rmdirSync(this.#path);
  }

  #counted(file: string, name: string): number {
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(readFileSync(this.#file(file), "utf8"))?.[1]);
  }

  #file(name: string): string {
    return path.join(this.#path, name);
  }
}
