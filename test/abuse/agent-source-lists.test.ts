import { shapes } from "@bunting/protocol/internal/document-shapes.fixture.js";
import {
  BuntingServer,
  versionOf,
  type SyncStream,
} from "@bunting/agent/internal/sync/bunting-server.fixture.js";
import { expect } from "chai";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import type { FlagDocument } from "@bunting/protocol";

type Version = ReturnType<typeof versionOf>;

/** A proxy that tells lists, and answers for each FeatureFlag at once. */
class ListingProxy {
  readonly server = new BuntingServer();
  readonly #documents = new Map<string, { readonly version: Version; readonly document: Buffer }>();
  /** The stream that asks for the list. */
  asking: SyncStream | undefined;
  streams = 0;
  target = "";
  #isOpen = true;

  async start(): Promise<void> {
    this.target = await this.server.start();
    void this.#serve();
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    await this.server.stop();
  }

  /** @returns the number of its flags */
  put(topic: string, document: string): number {
    const parsed = JSON.parse(document) as FlagDocument;
    this.#documents.set(topic, { version: versionOf(parsed), document: Buffer.from(document) });
    return Object.keys(parsed.flags).length;
  }

  tell(topics: readonly string[]): void {
    this.asking?.send({ sourceFlags: { topics: [...topics], frame: "f1" } });
  }

  async #serve(): Promise<void> {
    while (this.#isOpen) {
      const stream = await this.server.streams.nextEvent("a stream", 500).catch(() => undefined);
      if (stream !== undefined) void this.#answer(stream).catch(() => undefined);
    }
  }

  async #answer(stream: SyncStream): Promise<void> {
    this.streams++;
    void stream.closed.then(() => this.streams--);
    const { sources } = await stream.next("hello");
    if (sources !== undefined) this.asking = stream;
    const { topic } = await stream.next("subscribe");
    const snapshot = this.#documents.get(topic);
    if (snapshot !== undefined) stream.send({ snapshot: { topic, ...snapshot } });
  }
}

describe("lists of a proxy that an agent follows within its image's limits", function () {
  this.timeout(120_000);
  let proxy: ListingProxy;
  let agent: AgentProcess | undefined;

  beforeEach(async () => {
    proxy = new ListingProxy();
    await proxy.start();
    proxy.put(
      "shop/first",
      '{"flags":{"first":{"state":"ENABLED","variants":{"on":1},"defaultVariant":"on"}}}',
    );
    const sources = proxySources(proxy.target, "core.openfeature.dev/shop/first");
    agent = await startAgent(sources, { env: { BUNTING_SOURCE_LIST: "shop/app@f1:0:0" } });
    await eventually(() => proxy.asking !== undefined, "the list is asked for");
  });
  afterEach(async () => {
    await agent?.process.stop("SIGKILL");
    await proxy.stop();
  });

  const metrics = async (): Promise<string> => (await fetch(`${agent?.management ?? ""}/metrics`)).text();
  const isServed = async (flags: number): Promise<boolean> =>
    (await metrics()).includes(`bunting_agent_store_flags ${flags}\n`);

  it("takes no more memory for two lists than there is for one", async () => {
    const [ours = [], others = []] = ["a", "b"].map((name) =>
      Array.from({ length: 3 }, (_, index) => `shop/${name}${index}`),
    );
    // Each list takes half of what flags may, and the agent has other flags.
    let flags = 0;
    for (const [seed, topic] of [...ours, ...others].entries())
      flags = 3 * proxy.put(topic, shapes["many flags of nothing"]?.(50_000, seed + 100) ?? "");
    for (const [round, topics] of [ours, others].entries()) {
      proxy.tell(topics);
      const isThere = async (): Promise<boolean> =>
        (await metrics()).includes(`list_changes_total ${round + 1}\n`) && isServed(flags);
      await eventually(isThere, `the list ${round}`, 50_000);
    }
    expect(await metrics(), "they did not fit beside each other").to.contain('code="DOCUMENT_TOO_LARGE"');
  });

  it("is not drowned by lists of any length, in any order, nor by their names", async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `shop/f${index}`);
    const hostile: readonly (readonly string[])[] = [
      names,
      [],
      Array.from({ length: 128 }, () => "shop/first"),
      [...names.slice(0, 127), "shop/first"],
      ["shop/first", ...names.slice(128, 255)],
      ["x".repeat(100_000), "shop/first"],
      ["shop/first", "../etc"],
    ];
    for (let told = 0; told < scaled(700, 140); told++) {
      proxy.tell(hostile[told % hostile.length] ?? []);
      proxy.tell([`no topic ${told}`]);
      // Until the agent has read it.
      if (told % 50 === 0) expect(await isServed(1), "the flag is served all the time").to.equal(true);
    }
    await eventually(
      () => {
        proxy.tell(["shop/first"]);
        return proxy.streams === 1;
      },
      "one stream",
      30_000,
    );
    expect(await isServed(1)).to.equal(true);
  });

  it("fills no log with what is wrong with lists", async () => {
    for (let told = 1; told <= 60; told++) proxy.tell([`no topic ${told}`]);
    const says = async (): Promise<boolean> =>
      (await (await fetch(`${agent?.management ?? ""}/readyz`)).text()).includes("no topic 60");
    await eventually(says, "the last of them");
    const isOfList = ({ msg }: { readonly msg: string }): boolean => msg.includes("can't be followed");
    await eventually(() => agent?.process.logs.some(isOfList) === true, "a line");
    expect(agent?.process.logs.filter(isOfList).length).to.be.at.most(6);
  });
});
