import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FaultProxy } from "./fault-proxy.js";
import type { FaultyApiServer } from "./faulty-api-server/index.js";
import { portOf, startProxyInPod, type ProxyProcess } from "./proxy-process.js";
import { TempDirectory } from "./temp-directory.js";

export interface ReplicaOptions {
  /** Also its token, by which the API server knows whose watches it has. */
  readonly name: string;
  readonly api: FaultyApiServer;
  readonly redisPort: number;
  /** The address of the backplane, if it is not Redis on redisPort by a way of its own. */
  readonly backplane?: string;
  readonly args?: readonly string[];
  /** How wrong its clock is at first, in ms; right if not given. */
  readonly clockShiftMs?: number | undefined;
  /** The size of its heap, for instance. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another bunting-proxy than that of this checkout. */
  readonly binary?: string;
}

const shiftedClock = path.join(import.meta.dirname, "shifted-clock.cjs");

/** One of several proxies on one API server and one Redis, with a way of its own to both that can be cut. */
export class Replica {
  readonly name: string;
  readonly proxy: ProxyProcess;
  readonly toApi: FaultProxy;
  readonly toRedis: FaultProxy;
  readonly #directory: TempDirectory;

  private constructor(
    name: string,
    directory: TempDirectory,
    proxy: ProxyProcess,
    ways: { readonly toApi: FaultProxy; readonly toRedis: FaultProxy },
  ) {
    this.name = name;
    this.#directory = directory;
    this.proxy = proxy;
    this.toApi = ways.toApi;
    this.toRedis = ways.toRedis;
  }

  static async start(options: ReplicaOptions): Promise<Replica> {
    const { name, api, redisPort, backplane, args = [], clockShiftMs, env = {}, binary } = options;
    const directory = new TempDirectory();
    const toApi = await FaultProxy.start(api.port);
    const toRedis = await FaultProxy.start(redisPort);
    const account = directory.file("account");
    mkdirSync(account);
    writeFileSync(path.join(account, "ca.crt"), api.ca);
    writeFileSync(path.join(account, "token"), name);
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(toApi.port),
      ...env,
      ...(clockShiftMs === undefined
        ? {}
        : { NODE_OPTIONS: `--require=${shiftedClock}`, BUNTING_TEST_CLOCK_SHIFT_MS: String(clockShiftMs) }),
    };
    const address = backplane ?? `redis://127.0.0.1:${toRedis.port}`;
    const ours = ["--backplane", address, ...args];
    const proxy = await startProxyInPod({ directory: account, environment }, ours, { binary });
    return new Replica(name, directory, proxy, { toApi, toRedis });
  }

  get port(): number {
    return portOf(this.proxy);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.proxy.process.child.kill(signal);
  }

  /** Sets its clock, of which `clockShiftMs` says that it is wrong, by as much again. */
  setClock(): void {
    this.proxy.process.child.kill("SIGUSR2");
  }

  /** Ends it with what is its own; the exit code if it ends by itself. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<number | null> {
    const code = await this.proxy.process.stop(signal);
    await this.toApi.close();
    await this.toRedis.close();
    this.#directory.remove();
    return code;
  }
}
