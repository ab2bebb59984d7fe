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
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start({ script, nodeFlags }: Binary, account: ServiceAccount): Promise<ClusterProxy> {
    const args = ["start", "--host=127.0.0.1", "--port=0", "--management-port=0", "--log-format=json"];
    const child = spawn(
      process.execPath,
      [...nodeFlags, script, ...args, `--service-account-directory=${account.directory}`],
      { env: { ...account.environment }, stdio: ["ignore", "ignore", "pipe"] },
    );
    for await (const line of createInterface(child.stderr)) {
      if (!line.startsWith("{")) throw new Error(`the proxy did not start: ${line}`);
      const { msg, service, port } = JSON.parse(line) as Record<string, unknown>;
      if (msg === "listening" && service === "sync") {
        child.stderr.resume();
        return new ClusterProxy(child, port as number);
      }
    }
    throw new Error("the proxy ended before it listened");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}
