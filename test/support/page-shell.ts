import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { repository } from "./markdown-pages.js";
import { binaries } from "./service-process.js";

/** Our programs, as users have them on the PATH. */
const programs: Readonly<Record<string, string>> = {
  bunting: binaries.cli,
  "bunting-agent": path.join(repository, "packages/agent/bin/bunting-agent.cjs"),
  "bunting-proxy": path.join(repository, "packages/proxy/bin/bunting-proxy.cjs"),
};

export interface ShellResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A bash of somebody who follows a page: our programs are on its PATH, and nothing else of this machine is known to it. */
export class PageShell {
  readonly #home = mkdtempSync(path.join(tmpdir(), "bunting-shell-"));
  readonly #directory: string;
  readonly #running: ChildProcess[] = [];

  /** @param directory in which commands are run */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(path.join(this.#home, "bin"));
    for (const [name, file] of Object.entries(programs)) {
      const script = `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`;
      writeFileSync(path.join(this.#home, "bin", name), script, { mode: 0o755 });
    }
  }

  /** Runs lines until they have ended. The first that fails ends them. */
  async run(lines: string, env: Readonly<Record<string, string>> = {}): Promise<ShellResult> {
    const child = this.start(lines, env);
    let [out, err] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, out, err };
  }

  /** Starts lines that may leave processes behind, or run until Ctrl-C; `stop` ends them. */
  start(lines: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
    const searched = [
      path.join(this.#home, "bin"),
      path.dirname(process.execPath),
      process.env["PATH"] ?? "",
    ];
    const child = spawn("bash", ["--norc", "-ec", lines], {
      cwd: this.#directory,
      env: { PATH: searched.join(path.delimiter), HOME: this.#home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, which ends as a whole.
      detached: true,
    });
    this.#running.push(child);
    return child;
  }

  async stop(): Promise<void> {
    for (const { pid } of this.#running) {
      try {
        if (pid !== undefined) process.kill(-pid, "SIGKILL");
      } catch {
        // All of it has ended.
      }
    }
    const left = this.#running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(left.map((child) => once(child, "exit")));
    rmSync(this.#home, { recursive: true, force: true });
  }
}
