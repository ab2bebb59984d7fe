import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";

const root = path.dirname(path.dirname(import.meta.dirname));

/** A program of examples/extensions as a process, on a free port. Every test must await `stop`. */
export class ExtensionProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** Resolves once it serves. `program` is a path below examples/extensions. */
  static async start(program: string, env: Readonly<Record<string, string>> = {}): Promise<ExtensionProcess> {
    const options = ["--conditions=@bunting/source", "--import=tsx"];
    const child = spawn(process.execPath, [...options, path.join(root, "examples/extensions", program)], {
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said: string[] = [];
    createInterface(child.stderr).on("line", (line) => said.push(line));
    for await (const line of createInterface(child.stdout)) {
      const [, port] = / at http:\/\/localhost:(\d+)$/.exec(line) ?? [];
      if (port !== undefined) return new ExtensionProcess(`http://127.0.0.1:${port}`, child);
      said.push(line);
    }
    throw new Error(`${program} ended: ${said.join("\n")}`);
  }

  /** Ends it as Kubernetes does; resolves with its exit code. */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const ended = once(this.#child, "exit") as Promise<[number | null]>;
    this.#child.kill();
    const [code] = await ended;
    return code;
  }
}
