import { createProxy, proxyOptionTable } from "@bunting/proxy";
import { createLogger, readOptions } from "@bunting/runtime";
import { eventually } from "./event-queue.js";
import type { LogLine } from "./service-process.js";

/** A whole proxy in this process, which starts in milliseconds. */
export class LocalProxy {
  readonly port: number;
  readonly logs: readonly LogLine[];
  readonly #stop: AbortController;
  readonly #stopped: Promise<void>;

  private constructor(port: number, logs: readonly LogLine[], stop: AbortController, stopped: Promise<void>) {
    this.port = port;
    this.logs = logs;
    this.#stop = stop;
    this.#stopped = stopped;
  }

  static async start(args: readonly string[]): Promise<LocalProxy> {
    const logs: LogLine[] = [];
    const write = (line: string): void => void logs.push(JSON.parse(line) as LogLine);
    const ours = [
      "--host=127.0.0.1",
      "--port=0",
      "--management-port=0",
      "--drain-delay=0",
      "--drain-window=0",
    ];
    const { options } = await readOptions(proxyOptionTable, { argv: ["start", ...ours, ...args], env: {} });
    const proxy = createProxy(options, createLogger({ format: "json", debug: false }, { write }));
    const stop = new AbortController();
    const stopped = proxy.run(stop.signal);
    const sync = (): LogLine | undefined =>
      logs.find((line) => line["service"] === "sync" && line.msg === "listening");
    await Promise.race([stopped, eventually(() => sync() !== undefined, "the proxy listens")]);
    return new LocalProxy(Number(sync()?.["port"]), logs, stop, stopped);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#stopped;
  }
}
