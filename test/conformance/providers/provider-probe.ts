import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { EventQueue } from "../../support/event-queue.js";

const run = promisify(execFile);
const folder = import.meta.dirname;
const cache = path.join(homedir(), ".cache/bunting/providers");
/** Time to fetch and build a provider, the first time. */
const installMs = 400_000;

/** A language's provider with its cache, in a program that evaluates string flags: one line for each, `value reason errorCode`. */
export interface ProviderProgram {
  readonly name: string;
  /** Fetches what it needs, once for all checkouts. Undefined if the machine lacks the toolchain, or its registry is out of reach. */
  readonly prepare: () => Promise<((port: number, streamDeadlineMs: number) => ProviderProbe) | undefined>;
}

/** A running program. */
export class ProviderProbe {
  readonly #process: ChildProcess;
  readonly #lines = new EventQueue<string>();
  #errors = "";

  constructor(command: string, args: readonly string[]) {
    this.#process = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    if (this.#process.stdout !== null)
      createInterface(this.#process.stdout).on("line", (line) => this.#lines.push(line));
    this.#process.stderr?.on("data", (text: Buffer) => (this.#errors += text.toString()));
  }

  /** Resolves once it is connected. */
  async ready(): Promise<void> {
    await this.#next("ready");
  }

  /** The value and the reason. */
  async ask(key: string): Promise<{ readonly value: string; readonly reason: string }> {
    this.#process.stdin?.write(`${key}\n`);
    const [value = "", reason = ""] = (await this.#next(key)).split(" ");
    return { value, reason: reason.replace(/^Reason\./, "") };
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }

  #next(what: string): Promise<string> {
    return this.#lines.nextEvent(what).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; it said:\n${this.#errors}`);
    });
  }
}

/** A virtual environment of Python with the provider from PyPI. */
export function installedPython(): Promise<string | undefined> {
  return installed("python", ["requirements.txt"], async (to) => {
    await run("python3", ["-m", "venv", to], { timeout: installMs });
    const requirements = path.join(folder, "requirements.txt");
    await run(path.join(to, "bin/python"), ["-m", "pip", "install", "-q", "-r", requirements], {
      timeout: installMs,
    });
  });
}

/** A folder whose `lib` has the provider from Maven Central with all that it needs, and whose `classes` has the program. */
export function installedJava(): Promise<string | undefined> {
  return installed("java", ["pom.xml", "ProviderProbe.java"], async (to) => {
    const jars = ["dependency:copy-dependencies", `-DoutputDirectory=${path.join(to, "lib")}`];
    await run("mvn", ["-q", "-B", "-f", path.join(folder, "pom.xml"), ...jars], { timeout: installMs });
    await run("javac", [
      ...["-cp", path.join(to, "lib/*"), "-d", path.join(to, "classes")],
      path.join(folder, "ProviderProbe.java"),
    ]);
  });
}

const python: ProviderProgram = {
  name: "Python",
  prepare: async () => {
    const place = await installedPython();
    if (place === undefined) return undefined;
    const program = path.join(folder, "provider_probe.py");
    return (port, deadlineMs) =>
      new ProviderProbe(path.join(place, "bin/python"), [program, String(port), String(deadlineMs)]);
  },
};

const java: ProviderProgram = {
  name: "Java",
  prepare: async () => {
    const place = await installedJava();
    if (place === undefined) return undefined;
    const classes = [path.join(place, "lib/*"), path.join(place, "classes")].join(":");
    return (port, deadlineMs) =>
      new ProviderProbe("java", ["-cp", classes, "ProviderProbe", String(port), String(deadlineMs)]);
  },
};

/** The provider from npm, which the repository depends on. */
const node: ProviderProgram = {
  name: "Node",
  prepare: () =>
    Promise.resolve((port, deadlineMs) => {
      const program = path.join(folder, "provider-probe.child.ts");
      return new ProviderProbe(process.execPath, ["--import=tsx", program, String(port), String(deadlineMs)]);
    }),
};

export const providerPrograms: readonly ProviderProgram[] = [node, python, java];

/** The folder of what is built from these files; undefined if that fails. */
async function installed(
  name: string,
  files: readonly string[],
  install: (to: string) => Promise<void>,
): Promise<string | undefined> {
  const digest = createHash("sha256");
  for (const file of files) digest.update(readFileSync(path.join(folder, file)));
  const place = path.join(cache, `${name}-${digest.digest("hex").slice(0, 12)}`);
  const isComplete = path.join(place, "complete");
  if (existsSync(isComplete)) return place;
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  try {
    await install(place);
  } catch {
    return undefined;
  }
  const begun = path.join(place, "begun");
  mkdirSync(begun);
  renameSync(begun, isComplete);
  return place;
}
