import type { buntingSyncV1, FlagDocument, PastVersion } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream } from "@bunting/test/support/agent-client.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { HeldFlags } from "@bunting/test/support/held-flags.js";
import { SyncServer } from "@bunting/test/support/sync-server.js";
import { expect } from "chai";

const topic = "demo/flags";
const key = "flag-";

/** Each version adds a flag of its own. */
function version(number: number): FlagDocument {
  const flags: Record<string, { readonly state: string }> = { ballast: { state: "x".repeat(2_000) } };
  for (let one = 1; one <= number; one++) flags[`${key}${one}`] = { state: "on" };
  return { flags };
}

function digestOf(document: FlagDocument): Buffer {
  return Buffer.from(HeldFlags.of(document).digest, "hex");
}

function keysOf({ versions }: buntingSyncV1.History): string[][] {
  return versions.map(({ flags }) => flags);
}

describe("bunting.sync.v1 between proxies", () => {
  let server: SyncServer;
  let connection: AgentConnection;
  beforeEach(async () => {
    server = await new SyncServer({}).start();
    connection = await AgentConnection.open(server.port);
  });
  afterEach(async () => {
    connection.close();
    await eventually(() => server.listener.sessions.size === 0, "connections closed");
    await server.stop();
  });

  async function proxy(held?: FlagDocument): Promise<AgentClientStream> {
    const stream = connection.stream(false);
    stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", isProxy: true } });
    await stream.next("tier");
    stream.subscribe(topic, held && { digest: digestOf(held) });
    return stream;
  }

  /** An agent keeps the topic, which learns of the versions up to this one. */
  async function published(last: number): Promise<AgentClientStream> {
    const agent = connection.stream();
    agent.subscribe(topic);
    await agent.next("missing");
    for (let number = 1; number <= last; number++) server.source.publish(topic, version(number));
    return agent;
  }

  it("tells the history of a version before the version, and agents nothing of it", async () => {
    const agent = await published(3);
    const edge = await proxy();
    const { digest, versions } = await edge.next("history");
    expect(digest).to.deep.equal(digestOf(version(3)));
    expect(versions.map((one) => one.digest)).to.deep.equal([digestOf(version(1)), digestOf(version(2))]);
    expect(keysOf({ topic, digest, versions })).to.deep.equal([[`${key}2`], [`${key}3`]]);
    const snapshot = await edge.next("snapshot");
    expect(snapshot.version?.digest).to.deep.equal(digest);
    expect(edge.lastNumber(topic), "it counts as a message of the stream").to.equal(3);
    edge.ack(topic, digest);
    server.source.publish(topic, version(4));
    await edge.next("delta");
    // It was there when the first version came.
    await agent.next("snapshot");
    agent.ack(topic, digestOf(version(1)));
    await agent.next("delta");
  });

  it("tells with a delta only of the versions that it skips, and nothing with an unchanged one", async () => {
    await published(5);
    const behind = await proxy(version(2));
    expect(keysOf(await behind.next("history"))).to.deep.equal([[`${key}3`], [`${key}4`], [`${key}5`]]);
    await behind.next("delta");
    await (await proxy(version(4))).next("delta");
    await (await proxy(version(5))).next("unchanged");
  });

  it("gives an agent the whole document where what the source says of the history is a lie", async () => {
    const [old, other, now] = [
      version(3),
      version(4),
      { flags: { ...version(2).flags, new: { state: "" } } },
    ];
    const agent = connection.stream();
    agent.subscribe(topic, { digest: digestOf(old) });
    await agent.next("missing");
    const lie = (document: FlagDocument, ...flags: readonly string[]): PastVersion => ({
      digest: digestOf(document).toString("hex"),
      flags,
      metadata: false,
      evaluators: false,
    });
    server.source.publish(topic, now, undefined, [lie(old, `${key}1`), lie(other, "no such flag")]);
    const delta = await agent.next("delta");
    expect(delta.flags.map((flag) => flag.key)).to.deep.equal([`${key}1`, "no such flag"]);
    expect(HeldFlags.of(old).apply(delta).digest).not.to.equal(HeldFlags.of(now).digest);
    agent.nack(topic, "it led elsewhere", { held: digestOf(old), isDeltaMismatch: true });
    const snapshot = await agent.next("snapshot");
    expect(HeldFlags.ofSnapshot(snapshot).digest).to.equal(HeldFlags.of(now).digest);
  });
});
