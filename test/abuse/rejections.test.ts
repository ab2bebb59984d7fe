import { expect } from "chai";
import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

const topic: TopicKey = "default/flags";
const flood = 500;

interface Refused {
  readonly flag?: string;
  readonly reason: string;
  readonly subscribers: number;
}

/** Agents that refuse more than there is, so that /status and the log show nothing else. */
describe("a proxy whose agents refuse what they like", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  const connections: AgentConnection[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    proxy = await startProxy(directory.path, ["--drain-delay", "0", "--drain-window", "0"]);
  });

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
  });

  async function openAgent(): Promise<AgentClientStream> {
    const connection = await AgentConnection.open(Number(proxy.sync.split(":")[1]));
    connections.push(connection);
    return connection.stream();
  }

  /** Subscribes, and acknowledges the flags except for these. */
  async function refuse(agent: AgentClientStream, rejected: buntingSyncV1.RejectedFlag[]): Promise<void> {
    agent.subscribe(topic);
    agent.ack(topic, (await agent.next("snapshot")).version?.digest, rejected);
  }

  async function refusals(): Promise<readonly Refused[]> {
    const response = await fetch(`${proxy.management}/status`);
    const { topics } = (await response.json()) as { topics: readonly { rejections?: readonly Refused[] }[] };
    return topics[0]?.rejections ?? [];
  }

  it("counts an agent once, however often it names a flag", async () => {
    await refuse(
      await openAgent(),
      Array.from({ length: 1_000 }, () => ({ key: "on-off", reason: "" })),
    );
    await eventually(async () => (await refusals()).length > 0, "the refusal");
    expect(await refusals()).to.have.length(1);
    expect((await refusals())[0]?.subscribers).to.equal(1);
  });

  it("shows what others refuse beside one that refuses hundreds of flags on all of its streams", async () => {
    const connection = await AgentConnection.open(Number(proxy.sync.split(":")[1]));
    connections.push(connection);
    for (let stream = 0; stream < 4; stream++) {
      const rejected = Array.from({ length: 100 }, (_, i) => ({ key: `made-up-${stream}-${i}`, reason: "" }));
      await refuse(connection.stream(), rejected);
    }
    await eventually(async () => (await refusals()).length >= 20, "the flood");
    await refuse(await openAgent(), [{ key: "on-off", reason: "no variant is named blue" }]);
    await eventually(
      async () => (await refusals()).some(({ flag }) => flag === "on-off"),
      "the honest refusal",
      5_000,
    );
  });

  it("logs few of the reasons that one agent gives, as often as it subscribes and refuses", async () => {
    const agent = await openAgent();
    for (let i = 0; i < flood; i++) {
      agent.subscribe(topic);
      await agent.next("snapshot");
      agent.nack(topic, `reason ${i}`);
      agent.unsubscribe(topic);
    }
    await proxy.process.nextLog("agents refused a version");
    await agent.sendAll([{ $case: "subscribe", value: { topic, held: undefined } }]);
    await agent.next("snapshot");
    expect(proxy.process.logs.length).to.be.lessThan(60);
  });
});
