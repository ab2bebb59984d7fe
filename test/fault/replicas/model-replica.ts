import { FaultProxy } from "../../support/fault-proxy.js";
import type { FaultyApiServer } from "../../support/faulty-api-server/index.js";
import { LocalProxy } from "../../support/local-proxy.js";
import { readMetric } from "../../support/read-metric.js";
import type { LogLine } from "../../support/service-process.js";
import { TempDirectory } from "../../support/temp-directory.js";

const options = [
  "--source=kubernetes",
  "--watch-scope=object",
  "--backplane-lease=1s",
  "--backplane-stable=300ms",
  "--deletion-policy=empty",
  "--deletion-grace=10ms",
];

/** A whole proxy with ways of its own to the API server and to Redis. */
export class ModelReplica {
  /** Also its token, by which the API server knows whose watches it has. */
  readonly name: string;
  readonly proxy: LocalProxy;
  readonly toApi: FaultProxy;
  readonly toRedis: FaultProxy;
  readonly #directory: TempDirectory;

  private constructor(
    name: string,
    proxy: LocalProxy,
    ways: { readonly toApi: FaultProxy; readonly toRedis: FaultProxy },
    directory: TempDirectory,
  ) {
    this.name = name;
    this.proxy = proxy;
    this.toApi = ways.toApi;
    this.toRedis = ways.toRedis;
    this.#directory = directory;
  }

  static async start(name: string, api: FaultyApiServer, redisPort: number): Promise<ModelReplica> {
    const directory = new TempDirectory();
    const toApi = await FaultProxy.start(api.port);
    const toRedis = await FaultProxy.start(redisPort);
    const cluster = { server: `https://127.0.0.1:${toApi.port}`, "certificate-authority": api.caFile };
    directory.replace(
      "kubeconfig",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "test",
        contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
        clusters: [{ name: "test", cluster }],
        users: [{ name: "test", user: { token: name } }],
      }),
    );
    const proxy = await LocalProxy.start([
      ...options,
      `--kubeconfig=${directory.file("kubeconfig")}`,
      `--backplane=redis://127.0.0.1:${toRedis.port}`,
    ]);
    return new ModelReplica(name, proxy, { toApi, toRedis }, directory);
  }

  /** What it tells of itself; 0 for a series that it has not begun. */
  async metric(series: string): Promise<number> {
    const listening = ({ msg, ...line }: LogLine): boolean =>
      msg === "listening" && line["service"] === "management";
    const port = this.proxy.logs.find(listening)?.["port"];
    return readMetric(`http://127.0.0.1:${String(port)}`, series, 0);
  }

  /** As if its packets got lost, or its process was stopped: what it has sent arrives when it goes on. */
  freeze(on: boolean): void {
    this.toApi.blackhole(on);
    this.toRedis.blackhole(on);
  }

  /** Ends without a chance to say anything to Redis. Resolves when nothing of it is left. */
  async die(): Promise<void> {
    await Promise.all([this.toApi.refuse(true), this.toRedis.refuse(true)]);
    this.freeze(false);
    this.toApi.cut();
    this.toRedis.cut();
    await this.stop();
  }

  /** Ends in good order. */
  async stop(): Promise<void> {
    await this.proxy.stop();
    await Promise.all([this.toApi.close(), this.toRedis.close()]);
    this.#directory.remove();
  }
}
