import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import path from "node:path";
import { recordCounts } from "./test-counts.js";
import { heldVariable, type TestReport } from "./test-report.js";
import { takeSlot } from "./test-slot.js";
import { slotVariable } from "../test/support/port-slice.js";

const root = path.dirname(import.meta.dirname);
/** mocha without its bin, which would only start a second process with the flags of .mocharc.json. It compares its real path with argv[1]. */
const mocha = realpathSync(path.join(root, "node_modules/mocha/lib/cli/cli.js"));
/**
 * Internals of node are for left-open.ts, which names the timers that keep mocha alive. With V8's own young generation, every eighth second of a mocha went into
 * its collection.
 */
const nodeFlags = [
  "--conditions=@bunting/source",
  "--import=tsx",
  "--expose-internals",
  "--max-semi-space-size=64",
];

/** How long the process may live on after its last test, in milliseconds. */
const patienceMs = 30_000;

/** How long is waited for what a process has printed, once it has ended, in milliseconds. */
const lastOutputMs = 5_000;

export interface MochaRun {
  readonly environment?: Readonly<Record<string, string>>;
  /** What mocha and the processes of its tests print; without it, that goes where the output of this process goes. */
  readonly onOutput?: (text: string) => void;
  /** How far mocha is; the last report has the counts, once all tests have ended. */
  readonly onReport?: (report: TestReport) => void;
}

/**
 * Runs mocha and resolves with its exit code. mocha ends by itself once nothing is left open; a run that has not ended 30 s after its last
 * test is killed and fails. This can't be left to the process itself: it may spin in node's clean-up, past its last line of JavaScript.
 */
export async function runMocha(args: readonly string[], run: MochaRun = {}): Promise<number> {
  const output = run.onOutput === undefined ? "inherit" : "pipe";
  const slot = await takeSlot();
  const child = spawn(process.execPath, [...nodeFlags, mocha, ...args], {
    cwd: root,
    env: {
      ...process.env,
      [heldVariable]: output === "pipe" ? "1" : undefined,
      [slotVariable]: slot?.slot.toString(),
      ...run.environment,
    },
    stdio: ["inherit", output, output, "ipc"],
    // A group of its own, so that a kill reaches the processes that tests have started.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => run.onOutput?.(text));
  }
  const forward = (signal: NodeJS.Signals): void => killGroup(child, signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  let overdue: NodeJS.Timeout | undefined;
  child.on("message", (message) => {
    const report = message as TestReport;
    run.onReport?.(report);
    if (report.kind === "ended") overdue ??= setTimeout(() => giveUp(child), patienceMs);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (run.onOutput !== undefined) await outputEnds(child);
  clearTimeout(overdue);
  slot?.release();
  process.removeListener("SIGINT", forward).removeListener("SIGTERM", forward);
  return code ?? 1;
}

/** What was printed may come after the exit; a process that a test has left behind may keep the output open for ever. */
async function outputEnds(child: ChildProcess): Promise<void> {
  const open = [child.stdout, child.stderr].filter((stream) => stream?.readableEnded === false);
  const signal = AbortSignal.timeout(lastOutputMs);
  await Promise.allSettled(open.map(async (stream) => stream && once(stream, "end", { signal })));
}

function giveUp(child: ChildProcess): void {
  console.error(
    `bunting: killing mocha: it has not ended within ${patienceMs / 1000} s of its last test, because a test left something open`,
  );
  console.error(processesOfGroup(child.pid ?? -1));
  // A failure of its own, that is not forgotten when tests which failed in the same run pass the second time.
  recordCounts({ passed: 0, failed: 1, skipped: 0 });
  killGroup(child, "SIGKILL");
}

/** What runs in a group of processes, of which one may be computing: as `ps` prints it, or nothing where there is no `ps`. */
function processesOfGroup(group: number): string {
  const ps = spawnSync("ps", ["-eo", "pgid,pid,stat,time,args"], { encoding: "utf8" });
  if (ps.error !== undefined) return "";
  const lines = ps.stdout.split("\n").filter((line) => Number.parseInt(line, 10) === group);
  return lines.map((line) => `  ${line.slice(0, 300)}`).join("\n");
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
