import { StockSyncClient } from "../support/stock-sync-client.js";
import type { DocumentName } from "./soak-documents.js";
import type { AgentMember, ProxyMember, SoakWorld } from "./soak-world.js";
import { versionIn } from "./version-in.js";
import { VersionJudge, type Way } from "./version-judge.js";

/** Clients that come, read once and go; what they read is judged. Half of those of a proxy ask for what does not exist, and read nothing. */
export class Visitors {
  readonly #world: SoakWorld;
  readonly #note: (problem: string) => void;

  constructor(world: SoakWorld, note: (problem: string) => void) {
    this.#world = world;
    this.#note = note;
  }

  async visitProxy(proxy: ProxyMember, count: number): Promise<void> {
    const address = `127.0.0.1:${proxy.port}`;
    const visits = Array.from({ length: count }, async (_, index) => {
      if (index % 2 === 0)
        await this.#visit(address, "small", "default/small", this.#world.waysTo(proxy), proxy.name);
      else await this.#hold(address);
    });
    await Promise.all(visits);
  }

  /** A provider in process, and a client that has all flags evaluated. */
  async visitAgent({ name, agent, document, ways }: AgentMember): Promise<void> {
    const askedMs = performance.now();
    await Promise.all([
      this.#visit(agent.sync, document, "", ways, name),
      this.#evaluateAll(agent.ofrep)
        .then((version) => this.#judge(document, ways, name).take(version, askedMs))
        .catch((error: unknown) => this.#fail(name, ways, error as Error)),
    ]);
  }

  async #visit(
    address: string,
    document: DocumentName,
    selector: string,
    ways: readonly Way[],
    name: string,
  ): Promise<void> {
    const askedMs = performance.now();
    const client = new StockSyncClient(address);
    const subscription = client.subscribe({ selector });
    try {
      const ended = subscription.ended.then(({ code, details }) => {
        throw new Error(`its stream ended with ${code}: ${details}`);
      });
      const message = await Promise.race([ended, subscription.messages.nextEvent("flags for a visitor")]);
      this.#judge(document, ways, name).take(versionIn(message), askedMs);
    } catch (error) {
      this.#fail(name, ways, error as Error);
    } finally {
      subscription.cancel();
      client.close();
    }
  }

  async #hold(address: string): Promise<void> {
    const client = new StockSyncClient(address);
    const subscription = client.subscribe({ selector: "default/none" });
    await Promise.race([subscription.headers, subscription.ended]);
    subscription.cancel();
    client.close();
  }

  async #evaluateAll(ofrep: string): Promise<number> {
    const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags`, {
      method: "POST",
      headers: { connection: "close", "content-type": "application/json" },
      body: '{"context":{}}',
    });
    const { flags } = (await response.json()) as {
      readonly flags: readonly { readonly key: string; readonly value: unknown }[];
    };
    return flags.find(({ key }) => key === "version")?.value as number;
  }

  #judge(document: DocumentName, ways: readonly Way[], name: string): VersionJudge {
    return new VersionJudge(this.#world.documents, document, ways, (problem) =>
      this.#note(`visitor of ${name}: ${problem}`),
    );
  }

  /** A visit may fail while something on the way is away. */
  #fail(name: string, ways: readonly Way[], { message }: Error): void {
    const isThere = ways.every(({ awayUntilMs }) => awayUntilMs < performance.now() - 5_000);
    if (isThere) this.#note(`visitor of ${name}: ${message}`);
  }
}
