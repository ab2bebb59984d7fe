import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
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
  return installed("python", [fileOf("requirements.txt")], async (to) => {
    await run("python3", ["-m", "venv", to], { timeout: installMs });
    const requirements = path.join(folder, "requirements.txt");
    await run(path.join(to, "bin/python"), ["-m", "pip", "install", "-q", "-r", requirements], {
      timeout: installMs,
    });
  });
}

/** A folder whose `lib` has the provider from Maven Central with all that it needs, and whose `classes` has the program. */
export function installedJava(): Promise<string | undefined> {
  return installed("java", [fileOf("pom.xml"), fileOf("ProviderProbe.java")], async (to) => {
    const jars = ["dependency:copy-dependencies", `-DoutputDirectory=${path.join(to, "lib")}`];
    await run("mvn", ["-q", "-B", "-f", path.join(folder, "pom.xml"), ...jars], { timeout: installMs });
    await run("javac", [
      ...["-cp", path.join(to, "lib/*"), "-d", path.join(to, "classes")],
      path.join(folder, "ProviderProbe.java"),
    ]);
  });
}

/** A folder with the example in Go, built of what the lines of its page fetch. The sums hold where the database of sums lacks some modules. */
export function installedGo(lines: string, example: string): Promise<string | undefined> {
  return installed("go", [lines, fileOf("go/go.sum"), readFileSync(example)], async (to) => {
    copyFileSync(path.join(folder, "go/go.sum"), path.join(to, "go.sum"));
    copyFileSync(example, path.join(to, "welcome.go"));
    await run("sh", ["-ec", `${lines}\ngo build -o welcome .`], { cwd: to, timeout: installMs });
  });
}

/** A folder with the example in Rust, built of what the lines of its page add: some minutes the first time. Needs protoc. */
export function installedRust(lines: string, example: string): Promise<string | undefined> {
  return installed("rust", [lines, readFileSync(example)], async (to) => {
    await run("cargo", ["init", "--vcs", "none", "--name", "welcome", to], { timeout: installMs });
    copyFileSync(example, path.join(to, "src/main.rs"));
    await run("sh", ["-ec", `${lines}\ncargo build`], { cwd: to, timeout: 2 * installMs });
  });
}

/** A folder with the example in C#, built with what the lines of its page add to a new project. */
export function installedDotnet(lines: string, example: string): Promise<string | undefined> {
  return installed("dotnet", [lines, readFileSync(example)], async (to) => {
    await run("dotnet", ["new", "console", "--output", to, "--name", "welcome"], { timeout: installMs });
    copyFileSync(example, path.join(to, "Program.cs"));
    const build = "dotnet build --output built";
    await run("sh", ["-ec", `${lines}\n${build}`], { cwd: to, timeout: installMs });
  });
}

/** A folder with what the lines of the page of PHP require. */
export function installedPhp(lines: string): Promise<string | undefined> {
  return installed("php", [lines], async (to) => {
    await run("sh", ["-ec", lines], { cwd: to, timeout: installMs });
  });
}

/** A folder with an example in JavaScript, and what the lines of its page install. */
export function installedNode(lines: string, example: string): Promise<string | undefined> {
  return installed("node", [lines, readFileSync(example)], async (to) => {
    copyFileSync(example, path.join(to, path.basename(example)));
    const options = {
      npm_config_audit: "false",
      npm_config_fund: "false",
      npm_config_prefer_offline: "true",
    };
    await run("sh", ["-ec", lines], { cwd: to, timeout: installMs, env: { ...process.env, ...options } });
  });
}

function fileOf(name: string): Buffer {
  return readFileSync(path.join(folder, name));
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

/** The folder of what is built from these texts; undefined if that fails. */
export async function installed(
  name: string,
  texts: readonly (string | Buffer)[],
  install: (to: string) => Promise<void>,
): Promise<string | undefined> {
  const digest = createHash("sha256");
  for (const text of texts) digest.update(text);
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
