import { spawnSync, spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import path from "node:path";
import type { ServiceAccount } from "@bunting/test/cluster/support/service-account.js";
import type { Binary } from "./binaries.js";
import { rootFolder } from "./bundle.js";

/** The folder with the binaries of a real control plane; builds them if needed, which takes minutes and needs Go. */
export function machineryFolder(): string {
  const script = path.join(rootFolder, "scripts/cluster-machinery.ts");
  const { status, stdout } = spawnSync(process.execPath, ["--import=tsx", script], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error("this case needs a real API server");
  return stdout.trim();
}

/** The shipped proxy in the pod of a ServiceAccount. */
export class ClusterProxy {
  readonly port: number;
  readonly managementPort: number;
  /** What it has logged since it listened. */
  readonly log = { bytes: 0, errors: 0 };
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ports: ReadonlyMap<unknown, number>) {
    this.#child = child;
    this.port = ports.get("sync") ?? 0;
    this.managementPort = ports.get("management") ?? 0;
  }

  /**
   * @param core the core to run on; any that this process may use if undefined.
   * @param more further arguments.
   */
  static async start(
    { script, nodeFlags, environment }: Binary,
    account: ServiceAccount,
    core?: number,
    more: readonly string[] = [],
  ): Promise<ClusterProxy> {
    const usual = ["start", "--host=127.0.0.1", "--port=0", "--management-port=0", "--log-format=json"];
    const args = [...usual, ...more];
    const command = [process.execPath, ...nodeFlags, script, ...args];
    const [file = "", ...rest] =
      core === undefined ? command : ["taskset", "--cpu-list", String(core), ...command];
    const child = spawn(file, [...rest, `--service-account-directory=${account.directory}`], {
      env: { ...environment, ...account.environment, PATH: process.env["PATH"] },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const lines = createInterface(child.stderr);
    const ports = new Map<unknown, number>();
    const proxy = await new Promise<ClusterProxy>((resolve, reject) => {
      child.once("exit", () => reject(new Error("the proxy ended before it listened")));
      lines.on("line", (line) => {
        if (ports.size === 2) return;
        if (!line.startsWith("{")) reject(new Error(`the proxy did not start: ${line}`));
        const { msg, service, port } = JSON.parse(line) as Record<string, unknown>;
        if (msg === "listening") ports.set(service, port as number);
        if (ports.size === 2) resolve(new ClusterProxy(child, ports));
      });
    });
    lines.on("line", (line) => {
      proxy.log.bytes += line.length + 1;
      if (line.includes('"level":"error"')) proxy.log.errors++;
    });
    return proxy;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.hasEnded()) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill(signal);
    await ended;
  }
}
