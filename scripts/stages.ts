import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import path from "node:path";

/** How long a stage that is ended may take to tidy up, in milliseconds. */
const killAfterMs = 20_000;

/** A step of the gate. */
export interface Stage {
  /** If tests run in it, the npm script that runs them, and more behind a slash where two stages run parts of one: `test:cluster/oldest`. */
  readonly name: string;
  /** Names of stages; it starts when they have ended, however they have. */
  readonly after: readonly string[];
  /** 0 to 19: what mostly computes leaves the processors to tests, which mostly wait. */
  readonly nice: number;
  /** For bash. */
  readonly command: string;
}

export interface StageResult {
  readonly stage: Stage;
  readonly code: number;
  readonly output: string;
  /** When it started and ended, in milliseconds from the start of all stages. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Time that its processes computed, in milliseconds; 0 if a signal ended it. What it left running is not in it. */
  readonly cpuMs: number;
}

/**
 * Reads a table of stages: lines of `name | after | nice | command`, names after each other with blanks. Empty lines and those that begin with `#`
 * say nothing.
 *
 * @throws Error for a line that is no stage, and for one that waits for a stage which is not above it.
 */
export function parseStages(table: string): Stage[] {
  const stages: Stage[] = [];
  for (const line of table.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    // More bars belong to the command.
    const parts = /^([^|]*)\|([^|]*)\|\s*(\d+)\s*\|(.*)$/
      .exec(line)
      ?.slice(1)
      .map((part) => part.trim());
    const [name = "", after = "", nice = "", command = ""] = parts ?? [];
    if (name === "" || command === "")
      throw new Error(`"${line}" is no stage: write name | after | nice | command`);
    const waitsFor = after.split(/\s+/).filter(Boolean);
    const unknown = waitsFor.find((other) => !stages.some((stage) => stage.name === other));
    if (unknown !== undefined)
      throw new Error(`the stage ${name} waits for ${unknown}: there is no such stage above it`);
    if (stages.some((stage) => stage.name === name)) throw new Error(`there are two stages ${name}`);
    stages.push({ name, after: waitsFor, nice: Number(nice), command });
  }
  return stages;
}

/**
 * Runs stages at once where none waits for another. The output of each goes into a file, and `onEnded` is called in the order of the table:
 * with a stage once all above it have ended, too.
 */
export class Stages {
  readonly #stages: readonly Stage[];
  readonly #directory: string;
  readonly #ended = new Map<string, StageResult>();
  readonly #running = new Map<string, { readonly child: ChildProcess; readonly startedMs: number }>();
  readonly #sinceMs = performance.now();
  #abandoned: string | undefined;

  /** @param directory For the outputs; it is made. */
  constructor(stages: readonly Stage[], directory: string) {
    this.#stages = stages;
    this.#directory = directory;
  }

  async run(onEnded: (result: StageResult) => void): Promise<readonly StageResult[]> {
    mkdirSync(this.#directory, { recursive: true });
    const runs = new Map<string, Promise<StageResult>>();
    for (const stage of this.#stages) {
      const before = [...runs].filter(([name]) => stage.after.includes(name)).map(([, run]) => run);
      runs.set(
        stage.name,
        Promise.all(before).then(() => this.#runOne(stage)),
      );
    }
    const results: StageResult[] = [];
    for (const run of runs.values()) {
      const result = await run;
      results.push(result);
      onEnded(result);
    }
    return results;
  }

  /** A line on what has ended, what runs, and the last line that each of these has printed. */
  progress(): string {
    const ended = `${this.#ended.size} of ${this.#stages.length} stages have ended`;
    const lines = [...this.#running].map(([name, { startedMs }]) => {
      const last = this.#outputOf(name).trimEnd().split("\n").at(-1)?.trim().slice(0, 150) ?? "";
      return `    ${minutes(this.#now() - startedMs)} min  ${name}${last === "" ? "" : `: ${last}`}`;
    });
    return [`bunting: ${minutes(this.#now())} min, ${ended}; running:`, ...lines].join("\n");
  }

  /** Ends what runs, and starts nothing more: all of these fail, and `run` resolves soon after. */
  abandon(reason: string): void {
    this.#abandoned ??= reason;
    this.kill("SIGTERM");
    setTimeout(() => this.kill("SIGKILL"), killAfterMs).unref();
  }

  /** Sends a signal to what runs. */
  kill(signal: NodeJS.Signals): void {
    for (const { child } of this.#running.values()) {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // It has ended by itself.
      }
    }
  }

  async #runOne(stage: Stage): Promise<StageResult> {
    const startedMs = this.#now();
    if (this.#abandoned !== undefined) {
      const output = `not started: ${this.#abandoned}\n`;
      return { stage, code: 1, output, startedMs, endedMs: startedMs, cpuMs: 0 };
    }
    const file = openSync(this.#fileOf(stage.name), "w");
    const cpu = openSync(this.#fileOf(stage.name, "cpu"), "w");
    // Where Linux groups processes by their sessions, of which a stage is one, `nice` has a meaning within the group only; the group has a value of its own.
    const niceGroup = `{ echo ${stage.nice} > /proc/$$/autogroup; } 2> /dev/null`;
    const command = `${niceGroup}\ntrap 'times >&3' EXIT\n${stage.command}`;
    const child = spawn("nice", ["-n", String(stage.nice), "bash", "-c", command], {
      stdio: ["ignore", file, file, cpu],
      // A group of its own, that `kill` reaches as a whole.
      detached: true,
    });
    closeSync(file);
    closeSync(cpu);
    this.#running.set(stage.name, { child, startedMs });
    // A stage that a signal ended has no code.
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (status) => resolve(status ?? 1));
    });
    this.#running.delete(stage.name);
    const cpuMs = computedMs(readFileSync(this.#fileOf(stage.name, "cpu"), "utf8"));
    const result = {
      stage,
      code,
      output: this.#outputOf(stage.name),
      startedMs,
      endedMs: this.#now(),
      cpuMs,
    };
    this.#ended.set(stage.name, result);
    return result;
  }

  #now(): number {
    return performance.now() - this.#sinceMs;
  }

  #outputOf(name: string): string {
    return readFileSync(this.#fileOf(name), "utf8");
  }

  #fileOf(name: string, extension = "log"): string {
    return path.join(this.#directory, `${name.replaceAll(/[^\w-]/g, "-")}.${extension}`);
  }
}

/** The sum of what bash's `times` prints: the user and system time of the shell, and of its children. */
function computedMs(times: string): number {
  const parts = [...times.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce(
    (sum, [, wholeMinutes, seconds]) => sum + Number(wholeMinutes) * 60_000 + Number(seconds) * 1_000,
    0,
  );
}

/** Minutes by stage, for who wants to make the gate shorter: what the last one waited for is its way through the table. */
export function stageTable(results: readonly StageResult[]): string[] {
  const width = Math.max(...results.map(({ stage }) => stage.name.length));
  return [
    "minutes by stage (from the first stage's start), and of all its processors:",
    ...results.map(
      ({ stage, code, startedMs, endedMs, cpuMs }) =>
        `  ${stage.name.padEnd(width)}  ${minutes(startedMs)} to ${minutes(endedMs)}: ${minutes(endedMs - startedMs)}` +
        `, computed ${minutes(cpuMs)}${code === 0 ? "" : "  FAILED"}`,
    ),
    `computed in all: ${minutes(results.reduce((sum, { cpuMs }) => sum + cpuMs, 0))}`,
  ];
}

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1).padStart(4);
}
