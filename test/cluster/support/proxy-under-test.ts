import { expect } from "chai";
import { startProxyInPod, type ProxyProcess } from "../../support/proxy-process.js";
import { StockSyncClient, type SyncSubscription } from "../../support/stock-sync-client.js";
import type { ServiceAccount } from "./service-account.js";

/** A flagSpec with one flag, whose value is the version. */
export function flagSpec(version: number, padding = ""): unknown {
  const variants = { v: version, ...(padding === "" ? {} : { padding }) };
  return { flags: { version: { state: "ENABLED", variants, defaultVariant: "v" } } };
}

const streamsPerConnection = 50;

/** A real proxy in the pod of a ServiceAccount, and stock clients that subscribe to it. */
export class ProxyUnderTest {
  readonly #proxy: ProxyProcess;
  readonly #clients: StockSyncClient[] = [];
  #streams = 0;

  private constructor(proxy: ProxyProcess) {
    this.#proxy = proxy;
  }

  static async start(
    account: Pick<ServiceAccount, "directory" | "environment">,
    args: readonly string[] = [],
  ): Promise<ProxyUnderTest> {
    return new ProxyUnderTest(await startProxyInPod(account, ["--max-topics-per-connection", "0", ...args]));
  }

  get process(): ProxyProcess["process"] {
    return this.#proxy.process;
  }

  get sync(): string {
    return this.#proxy.sync;
  }

  subscribe(namespace: string, name: string): FlagStream {
    if (this.#streams++ % streamsPerConnection === 0)
      this.#clients.unshift(new StockSyncClient(this.#proxy.sync));
    const [client] = this.#clients;
    if (client === undefined) throw new Error("there is a client by now");
    return new FlagStream(client.subscribe({ selector: `${namespace}/${name}` }), client);
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.#proxy.management}/metrics`)).text();
  }

  /** The value of one line of /metrics; 0 if there is none. */
  async metric(line: string): Promise<number> {
    const found = (await this.metrics()).split("\n").find((each) => each.startsWith(`${line} `));
    return Number(found?.slice(line.length + 1) ?? 0);
  }

  /** Ends it; fails if it had already ended by itself. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    expect(await this.process.stop("SIGKILL"), this.process.output).to.equal(null);
  }
}

/** One subscriber of one FeatureFlag made by `flagSpec`. */
export class FlagStream {
  readonly subscription: SyncSubscription;
  /** The versions that came, "empty" for a document without flags. */
  readonly seen: (number | "empty")[] = [];
  /** The padding of the last one. */
  padding: string | undefined;
  readonly #client: StockSyncClient;

  constructor(subscription: SyncSubscription, client: StockSyncClient) {
    this.subscription = subscription;
    this.#client = client;
  }

  /** The next message's version. */
  async next(withinMs = 60_000): Promise<number | "empty"> {
    const { text } = await this.subscription.messages.nextEvent("a version", withinMs);
    const { flags } = JSON.parse(text) as {
      flags: { version?: { variants: { v: number; padding?: string } } };
    };
    const version = flags.version?.variants.v ?? "empty";
    this.padding = flags.version?.variants.padding;
    this.seen.push(version);
    return version;
  }

  /** Waits until this version came, so long for each version before it; versions without an end are ended by the test's own limit. */
  async until(version: number | "empty", withinMs = 60_000): Promise<void> {
    while (this.seen.at(-1) !== version) {
      await this.next(withinMs).catch((error: unknown) => {
        throw new Error(`version ${version} did not come; these did: ${this.seen.join(" ")}`, {
          cause: error,
        });
      });
    }
  }

  /** Fails if the proxy has sent a version by now that was not taken. */
  async fence(): Promise<void> {
    await this.#client.fence();
    expect(this.subscription.messages.size, "versions that were not to come").to.equal(0);
  }

  cancel(): void {
    this.subscription.cancel();
  }
}
