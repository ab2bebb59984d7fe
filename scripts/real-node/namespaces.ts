import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { makeGroups, removeGroups, sweepGroups } from "./cgroups.js";

/** Also what killed runs are recognised by: the number is the process id of the run. */
const prefix = "bunting-node-";

/**
 * Runs a command in namespaces of its own (mounts, network, processes, IPC, host name, cgroups) and resolves with its exit code. On the host
 * there is meanwhile a directory, which the command finds in BUNTING_NODE_DIRECTORY, and a group in each cgroup hierarchy; both are removed at
 * the end. If this process is killed, the kernel ends all processes in the namespaces, and the next run removes the rest.
 */
export async function runInNamespaces(
  command: readonly string[],
  { deadlineMs }: { readonly deadlineMs: number },
): Promise<number> {
  sweep();
  const name = `${prefix}${process.pid}`;
  const directory = path.join(tmpdir(), name);
  const groups = makeGroups(name);
  mkdirSync(directory, { mode: 0o755 });
  try {
    return await run(command, groups, { directory, deadlineMs });
  } finally {
    await removeGroups(groups);
    if (process.env["BUNTING_NODE_KEEP"] === undefined)
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
    else console.error(`bunting: the node's files and logs are kept in ${directory}`);
  }
}

async function run(
  command: readonly string[],
  groups: readonly string[],
  { directory, deadlineMs }: { readonly directory: string; readonly deadlineMs: number },
): Promise<number> {
  // The death of this process ends unshare, the death of unshare ends process 1 of the namespace, and with that all others in it. Process 1 is a
  // shell, because it collects orphans, which node does not.
  const script = [
    ...groups.map((group) => `echo $$ > ${group}/cgroup.procs`),
    "exec setpriv --pdeathsig KILL unshare --mount --net --pid --ipc --uts --cgroup" +
      ` --fork --kill-child=KILL --mount-proc sh -c '"$@" & wait $!' sh "$@"`,
  ].join(" && ");
  const child = spawn("sh", ["-c", script, "sh", ...command], {
    stdio: ["ignore", "inherit", "inherit"],
    // Temporary files of the command are removed with the directory, too.
    env: { ...process.env, BUNTING_NODE_DIRECTORY: directory, TMPDIR: directory },
  });
  const stop = (): void => void child.kill("SIGKILL");
  const overdue = setTimeout(() => {
    console.error(`bunting: ended after ${deadlineMs / 1000} s, the deadline`);
    stop();
  }, deadlineMs);
  process.on("SIGINT", stop).on("SIGTERM", stop).on("SIGHUP", stop);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  clearTimeout(overdue);
  process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop).removeListener("SIGHUP", stop);
  return code ?? 1;
}

/** Removes what killed runs have left. */
function sweep(): void {
  const isAbandoned = (name: string): boolean =>
    name.startsWith(prefix) &&
    /^\d+$/.test(name.slice(prefix.length)) &&
    !existsSync(`/proc/${name.slice(prefix.length)}`);
  sweepGroups(isAbandoned);
  for (const name of readdirSync(tmpdir()).filter(isAbandoned))
    rmSync(path.join(tmpdir(), name), { recursive: true, force: true });
}
