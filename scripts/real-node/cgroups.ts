import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A mounted hierarchy of cgroup v1. */
export interface CgroupHierarchy {
  readonly mount: string;
  /** Its controllers, or its name, as mount takes them: `memory`, `cpu,cpuacct`, `name=systemd`. */
  readonly controllers: string;
  /** The directory of this process's own group. */
  readonly own: string;
}

/** The hierarchies of cgroup v1 that this process is in. */
export function cgroupHierarchies(): CgroupHierarchy[] {
  const own = new Map<string, string>();
  for (const line of linesOf("/proc/self/cgroup")) {
    const [, controllers = "", ...group] = line.split(":");
    own.set(controllers, group.join(":"));
  }
  return linesOf("/proc/self/mountinfo").flatMap((line) => {
    const fields = line.split(" ");
    const mount = fields[4] ?? "";
    if (fields[fields.indexOf("-") + 1] !== "cgroup") return [];
    const controllers = (fields.at(-1) ?? "").split(",").filter(isController).join(",");
    return [{ mount, controllers, own: path.join(mount, own.get(controllers) ?? "/") }];
  });
}

function isController(option: string): boolean {
  return !["rw", "ro", "xattr", "clone_children"].includes(option) && !option.startsWith("release_agent");
}

/** Makes a group of this name below this process's own, in every hierarchy, and returns their directories. */
export function makeGroups(name: string): string[] {
  return cgroupHierarchies().map(({ own }) => {
    const group = path.join(own, name);
    mkdirSync(group);
    // A new cpuset has no processors, and takes no process before it has some.
    for (const file of readdirSync(group).filter((one) => /^cpuset\.(cpus|mems)$/.test(one)))
      writeFileSync(path.join(group, file), readFileSync(path.join(own, file)));
    return group;
  });
}

/** Removes groups with all below them, once the kernel has let go of their processes. */
export async function removeGroups(groups: readonly string[]): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (const group of groups) {
    for (;;) {
      try {
        removeTree(group);
        break;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await delay(20);
      }
    }
  }
}

/** Removes groups, wherever they are, whose name says that their maker is gone. Those that still have processes stay. */
export function sweepGroups(isAbandoned: (name: string) => boolean): void {
  const look = (directory: string): void => {
    for (const group of groupsIn(directory)) {
      if (!isAbandoned(path.basename(group))) look(group);
      else ignoringErrors(() => removeTree(group));
    }
  };
  for (const { mount } of cgroupHierarchies()) look(mount);
}

function removeTree(group: string): void {
  for (const child of groupsIn(group)) removeTree(child);
  try {
    rmdirSync(group);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function groupsIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(directory, entry.name));
  } catch {
    return [];
  }
}

function ignoringErrors(action: () => void): void {
  try {
    action();
  } catch {
    // The next sweep tries again.
  }
}

function linesOf(file: string): string[] {
  return readFileSync(file, "utf8").trim().split("\n");
}
