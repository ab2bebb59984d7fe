import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { eventually } from "../../support/event-queue.js";
import { TempDirectory } from "../../support/temp-directory.js";

export interface DockerDaemonOptions {
  /** The Compose plugin. */
  readonly compose: string;
  /** Where images and layers are kept, for a daemon after this one. */
  readonly data: string;
  /**
   * What containers reach. `own`: a network namespace of the daemon, because Docker leaves rules behind that drop what is forwarded on a machine, which tests with
   * Pods do; nobody outside reaches a port that is published. `host`: builds reach what this machine does, and nothing else can be run.
   */
  readonly network: "own" | "host";
}

/** A Docker daemon of its own, with a socket of its own. */
export class DockerDaemon {
  readonly #directory = new TempDirectory();
  readonly #process: ChildProcess;

  constructor({ compose, data, network }: DockerDaemonOptions) {
    const plugins = this.#directory.file("config/cli-plugins");
    mkdirSync(plugins, { recursive: true });
    symlinkSync(compose, path.join(plugins, "docker-compose"));
    const places = ["--data-root", data, "--exec-root", this.#directory.file("exec"), "--host", this.host];
    const daemon = ["dockerd", ...places, "--pidfile", this.#directory.file("pid")];
    const noRules = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"];
    const [command = "", ...args] =
      network === "own" ? ["unshare", "--net", ...daemon] : [...daemon, ...noRules];
    const log = openSync(this.#log, "w");
    this.#process = spawn(command, args, { stdio: ["ignore", log, log] });
    closeSync(log);
  }

  get #log(): string {
    return this.#directory.file("log");
  }

  get host(): string {
    return `unix://${this.#directory.file("docker.sock")}`;
  }

  /** For `docker` and its plugins. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, DOCKER_HOST: this.host, DOCKER_CONFIG: this.#directory.file("config") };
  }

  async untilReady(): Promise<void> {
    const isReady = (): boolean => {
      try {
        execFileSync("docker", ["version"], { env: this.environment, stdio: "ignore" });
        return true;
      } catch {
        return false;
      }
    };
    await eventually(isReady, "Docker's daemon answers", 60_000).catch((error: unknown) => {
      const lines = readFileSync(this.#log, "utf8").trimEnd().split("\n").slice(-20);
      throw new Error(`Docker's daemon said:\n${lines.join("\n")}`, { cause: error });
    });
  }

  /** Takes an image from a layout of OCI, by the name that it is to have. */
  load(layout: string, name: string): void {
    execFileSync("skopeo", [
      ...["copy", "--quiet", "--dest-daemon-host", this.host],
      ...[`oci:${layout}`, `docker-daemon:${name}`],
    ]);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("close", resolve));
    if (this.#process.exitCode === null) this.#process.kill("SIGTERM");
    await ended;
    this.#directory.remove();
  }
}
