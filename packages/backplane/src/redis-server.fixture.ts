import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@bunting/test/support/event-queue.js";
import { freePort } from "@bunting/test/support/free-port.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { Redis } from "ioredis";
import type { Context } from "mocha";

const isInstalled = spawnSync("redis-server", ["--version"]).status === 0;
let isReported = false;

/** The first line of a `before` hook: without redis-server, the tests count as skipped, and say once how to get one. */
export function needsRedisServer(context: Context): void {
  if (isInstalled) return;
  if (!isReported)
    console.error(
      "These tests start redis-server, which is not there. On Debian: apt-get install redis-server.",
    );
  isReported = true;
  context.skip();
}

/** A redis-server of the tests: on a free port, with its data in a temporary directory, and nothing of the machine's configuration. */
export class RedisServer {
  readonly port: number;
  readonly directory = new TempDirectory();
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #output = "";
  #isAsStarted = true;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
  }

  static async start(...args: readonly string[]): Promise<RedisServer> {
    const fixed = ["--save", ""];
    return RedisServer.#startOn([...(args.includes("--port") ? [] : ["--port", "@"]), ...fixed, ...args]);
  }

  /** A Sentinel, with its configuration in this file, which it rewrites. */
  static async startSentinel(config: string): Promise<RedisServer> {
    return RedisServer.#startOn([config, "--sentinel", "--port", "@"]);
  }

  static async #startOn(args: readonly string[]): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(await freePort(), args);
      try {
        await server.restart();
        return server;
      } catch (error) {
        await server.stop();
        // Another process has taken the port meanwhile.
        if (attempt === 5) throw error;
      }
    }
  }

  /** For `after` hooks, which run also where there is no redis-server. */
  static async stop(server: RedisServer | undefined): Promise<void> {
    await server?.stop();
  }

  /** False once it was killed or paused, or its configuration was changed: then the next test needs another one. */
  get isAsStarted(): boolean {
    return this.#isAsStarted;
  }

  get address(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get output(): string {
    return this.#output;
  }

  /** Starts it where it was, without the data unless it has saved them. */
  async restart(): Promise<void> {
    // `@` stands for the port where an argument needs it.
    const args = this.#args.map((arg) => (arg === "@" ? String(this.port) : arg));
    const child = spawn("redis-server", [...args, "--bind", "127.0.0.1", "--dir", this.directory.path], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stdout.on("data", (data: Buffer) => (this.#output += data.toString()));
    child.stderr.on("data", (data: Buffer) => (this.#output += data.toString()));
    const start = this.#output.length;
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`redis-server ended: ${this.#output}`);
      return /Ready to accept connections|sentinel .* is /i.test(this.#output.slice(start));
    }, "the start of redis-server");
  }

  /** Stops it like a machine that hangs: connections stay, and nothing answers. */
  pause(): void {
    this.#isAsStarted = false;
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Ends it without a chance to save anything. */
  async kill(): Promise<void> {
    this.#isAsStarted = false;
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.kill();
    this.directory.remove();
  }

  /** Runs one command as an operator would. */
  async command(name: string, ...args: readonly (string | number | Buffer)[]): Promise<unknown> {
    if (name === "CONFIG") this.#isAsStarted = false;
    const redis = new Redis({
      host: "127.0.0.1",
      port: this.port,
      lazyConnect: true,
      retryStrategy: () => null,
    });
    try {
      await redis.connect();
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  }
}

/** One redis-server for a file of tests: each gets it empty, or another one after a test that has not left it as it was. */
export class SharedRedis {
  #server: RedisServer | undefined;

  /** For `beforeEach` hooks. */
  async next(): Promise<RedisServer> {
    if (this.#server?.isAsStarted !== true) {
      await this.stop();
      this.#server = await RedisServer.start();
    } else await this.#server.command("FLUSHALL");
    return this.#server;
  }

  /** For `after` hooks, which run also where there is no redis-server. */
  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }
}
