/** Not a test: an agent that follows the list of its sources, and the proxy that tells it, whose part a test plays by hand. */
import { encodeDocument, sourceListDigest, type FlagDocument } from "@bunting/protocol";
import { createLogger, readOptions, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { createAgent } from "./agent.js";
import { agentOptionTable } from "./options.js";
import { FlagStore, type FlagStoreOptions } from "./store/flag-store.js";
import { BuntingServer, versionOf, type SyncStream } from "./sync/bunting-server.fixture.js";
import * as agentParts from "./wiring/agent-parts.js";

interface LogLine {
  readonly msg: string;
  readonly service?: string;
  readonly port?: number;
}

export function documentOf(...keys: readonly string[]): FlagDocument {
  const flag = (value: string): FlagDocument["flags"][string] => ({
    state: "ENABLED",
    variants: { on: value },
    defaultVariant: "on",
  });
  return { flags: Object.fromEntries(keys.map((key) => [key, flag(key)])) };
}

export const list = "shop/checkout@f1:0:0";

export function digestOf(topics: readonly string[], frame = "f1"): string {
  return sourceListDigest({ namespace: "shop", text: "checkout", frame, topics });
}

/** Every test must await `stop`. */
export class FollowingAgent {
  readonly cache = new TempDirectory();
  server = new BuntingServer();
  lines = new EventQueue<LogLine>();
  /** Of each generation, as long as it is not collected. */
  readonly stores: WeakRef<FlagStore>[] = [];
  #target = "";
  #ofrep = "";
  #management = "";
  readonly #stops: (() => Promise<void>)[] = [];

  async listen(server = this.server): Promise<void> {
    this.server = server;
    this.#target = await server.start();
  }

  async stop(): Promise<void> {
    await this.stopAgent();
    await this.server.stop();
    this.cache.remove();
  }

  async stopAgent(): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop();
  }

  async start(
    topics: readonly string[],
    sourceList = list,
    more: readonly string[] = ["--start-wait", "60s"],
  ): Promise<void> {
    const lines = (this.lines = new EventQueue<LogLine>());
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => lines.push(JSON.parse(line) as LogLine) },
    );
    const sources = topics.map((topic) => ({
      uri: this.#target,
      provider: "grpc",
      selector: `core.openfeature.dev/${topic}`,
    }));
    const ports = ["--port", "--management-port", "--sync-port", "--ofrep-port"].flatMap((name) => [
      name,
      "0",
    ]);
    const { options } = await readOptions(agentOptionTable, {
      argv: [
        ...["--host", "127.0.0.1", "--sources", JSON.stringify(sources)],
        ...["--cache-dir", this.cache.path, "--source-list", sourceList, ...ports, ...more],
      ],
      env: {},
    });
    const abort = new AbortController();
    const { stores } = this;
    class WatchedStore extends FlagStore {
      constructor(given: FlagStoreOptions) {
        super(given);
        stores.push(new WeakRef(this));
      }
    }
    const parts = { ...agentParts, FlagStore: WatchedStore };
    const running = createAgent(options, logger, systemClock, parts).run(abort.signal);
    this.#stops.push(() => {
      abort.abort();
      return running;
    });
    const { port } = await lines.nextMatching(({ service }) => service === "management", "the port");
    this.#management = `http://127.0.0.1:${port ?? 0}`;
  }

  async open(): Promise<void> {
    const { port } = await this.lines.nextMatching(
      ({ service }) => service === "ofrep",
      "the port for OFREP",
    );
    this.#ofrep = `http://127.0.0.1:${port ?? 0}`;
  }

  /** The next stream, by its topic. */
  async nextStream(): Promise<{
    readonly stream: SyncStream;
    readonly topic: string;
    readonly has: string | undefined;
    readonly held: string | undefined;
  }> {
    const stream = await this.server.nextStream();
    const hello = await stream.next("hello");
    const { topic, held } = await stream.next("subscribe");
    return {
      stream,
      topic,
      has: hello.sources?.digest,
      held: held && Buffer.from(held.digest).toString("hex"),
    };
  }

  async nextStreams(count: number): Promise<Map<string, SyncStream>> {
    const streams = new Map<string, SyncStream>();
    while (streams.size < count) {
      const { stream, topic } = await this.nextStream();
      streams.set(topic, stream);
    }
    return streams;
  }

  async answer(key: string): Promise<unknown> {
    const response = await fetch(`${this.#ofrep}/ofrep/v1/evaluate/flags/${key}`, {
      method: "POST",
      body: "{}",
    });
    return ((await response.json()) as { value?: unknown; errorCode?: string }).value ?? response.status;
  }

  async readyz(): Promise<string> {
    return (await fetch(`${this.#management}/readyz`)).text();
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.#management}/metrics`)).text();
  }

  /** As the metrics have it. */
  async listState(): Promise<string | undefined> {
    return /^bunting_agent_sync_list\{state="(\w+)"\} 1$/m.exec(await this.metrics())?.[1];
  }

  switched(): Promise<LogLine> {
    return this.lines.nextMatching(({ msg }) => msg === "the list of sources has changed", "the change");
  }

  /** An agent with the FeatureFlag `shop/a`, which is served. */
  async serving(more?: readonly string[]): Promise<SyncStream> {
    await this.start(["shop/a"], list, more);
    const { stream, has } = await this.nextStream();
    expect(has, "it says which list it has").to.equal(digestOf(["shop/a"]));
    await send(stream, "shop/a", documentOf("a", "both"));
    await this.open();
    return stream;
  }
}

export async function send(
  stream: SyncStream | undefined,
  topic: string,
  document: FlagDocument,
): Promise<void> {
  const version = versionOf(document);
  stream?.send({ snapshot: { topic, version, document: Buffer.from(encodeDocument(document)) } });
  await stream?.next("ack");
}

/** What the agent calls a document. */
export function hexOf(document: FlagDocument): string {
  return Buffer.from(versionOf(document).digest).toString("hex");
}

export function tell(stream: SyncStream | undefined, topics: readonly string[], frame = "f1"): void {
  stream?.send({ sourceFlags: { topics: [...topics], frame } });
}
