import { portOf, startProxy, startProxyOn, type ProxyProcess } from "./proxy-process.js";
import { readMetric } from "./read-metric.js";
import { StockSyncClient, type SyncSubscription } from "./stock-sync-client.js";
import { TcpSwitch } from "./tcp-switch.js";
import { TempDirectory } from "./temp-directory.js";
import { eventually } from "./event-queue.js";

const quickDrain = ["--drain-delay", "0", "--drain-window", "0"];

/** Proxies that feed each other, and what reads from them; all of it ends with `close`. */
export class Tiers {
  /** What the root serves. */
  readonly directory = new TempDirectory();
  readonly #cleanUps: (() => unknown)[] = [() => this.directory.remove()];

  /** A proxy that reads the directory. */
  async root(args: readonly string[] = [], directory = this.directory.path): Promise<ProxyProcess> {
    return this.#running(await startProxy(directory, [...quickDrain, ...args]));
  }

  /** A proxy that reads from others, as `--source upstream:` names them. */
  async tier(upstream: string, args: readonly string[] = []): Promise<ProxyProcess> {
    return this.#running(await startProxyOn(`upstream:${upstream}`, [...quickDrain, ...args]));
  }

  client({ sync }: ProxyProcess): StockSyncClient {
    const client = new StockSyncClient(sync);
    this.onClose(() => client.close());
    return client;
  }

  subscribe(proxy: ProxyProcess, selector: string): SyncSubscription {
    return this.client(proxy).subscribe({ selector });
  }

  /** Stands between a proxy and those upstream of it. */
  async openSwitch(...proxies: readonly ProxyProcess[]): Promise<TcpSwitch> {
    const opened = await TcpSwitch.start();
    this.onClose(() => opened.close());
    opened.setBackends(proxies.map(portOf));
    return opened;
  }

  onClose(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  async close(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
  }

  #running(proxy: ProxyProcess): ProxyProcess {
    this.onClose(() => proxy.process.stop("SIGKILL"));
    return proxy;
  }
}

/** Waits until so many topics of the proxy are stale. */
export function untilStale({ management }: ProxyProcess, count: number): Promise<void> {
  const series = 'bunting_proxy_topic_topics{state="stale"}';
  return eventually(async () => (await readMetric(management, series)) === count, `${count} stale`);
}

/** How often connections to upstreams of this proxy failed for this reason. */
export function upstreamFailures({ management }: ProxyProcess, reason: string): Promise<number> {
  return readMetric(management, `bunting_proxy_upstream_failures_total{reason="${reason}"}`, 0);
}
