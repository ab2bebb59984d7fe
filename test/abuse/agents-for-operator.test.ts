import { expect } from "chai";
import type { TopicKey } from "@bunting/protocol";
import { readAgents } from "@bunting/operator/internal/controllers/agents/read-agents.js";
import type { TopicAgents } from "@bunting/operator/internal/controllers/agents/told-agents.js";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { AckingAgent } from "../support/acking-agent.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** Names as long as Kubernetes lets them be. */
const [longNamespace, longName] = ["n".repeat(63), "f".repeat(240)];
/** So many of them are more than the 4 MB that the operator reads of one answer. */
const guessed = 12_000;
/** More than two pages. */
const real = 2_500;
/** As many as the proxy allows. */
const topicsPerStream = 32;
const topic = "default/f0" as TopicKey;

/** What the operator is told of agents, while peers whom nobody knows do what they like. */
describe("what a proxy tells the operator of its agents", () => {
  let directory: TempDirectory;
  let proxy: ProxyProcess;
  const cleanUps: (() => void)[] = [];

  beforeEach(async () => {
    directory = new TempDirectory();
    const others = Array.from({ length: real - 1 }, (_, index) => `f${index + 1}`);
    directory.replace("others.yaml", others.map((name) => manifest(name, 1)).join("---\n"));
    directory.replace("f0.yaml", manifest("f0", 1));
    proxy = await startProxy(directory.path, ["--max-topics-per-connection=0", "--peer-memory=1Gi"]);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
    await proxy.process.stop("SIGKILL");
    directory.remove();
  });

  async function told(): Promise<readonly TopicAgents[]> {
    const { hostname: host, port } = new URL(proxy.management);
    const answer = await readAgents(
      { host, port: Number(port), token: "none is needed on loopback" },
      new AbortController().signal,
    );
    return answer ?? [];
  }

  async function peer(): Promise<AgentClientStream> {
    const connection = await AgentConnection.open(portOf(proxy));
    cleanUps.push(() => connection.close());
    return connection.stream();
  }

  async function subscribeAll(names: readonly string[]): Promise<readonly AgentClientStream[]> {
    const connection = await AgentConnection.open(portOf(proxy));
    cleanUps.push(() => connection.close());
    const streams: AgentClientStream[] = [];
    for (let from = 0; from < names.length; from += topicsPerStream) {
      const stream = connection.stream();
      const asked = names.slice(from, from + topicsPerStream);
      await stream.sendAll(
        asked.map((name) => ({ $case: "subscribe", value: { topic: name, held: undefined } })),
      );
      streams.push(stream);
    }
    return streams;
  }

  async function agent(): Promise<AckingAgent> {
    const started = await AckingAgent.start(portOf(proxy), [topic]);
    cleanUps.push(() => started.close());
    return started;
  }

  async function rowOf(key: string): Promise<TopicAgents | undefined> {
    return (await told()).find((each) => each.topic === key);
  }

  const untilRow = (isSo: (row: TopicAgents) => boolean, what: string): Promise<void> =>
    eventually(async () => {
      const row = await rowOf(topic);
      return row !== undefined && isSo(row);
    }, what);

  it(`is short while somebody asks for ${guessed} FeatureFlags that do not exist`, async () => {
    await agent();
    await untilRow(({ current }) => current === 1, "the agent is counted");
    const names = Array.from({ length: guessed }, (_, index) => `${longNamespace}/${longName}${index}`);
    const streams = await subscribeAll(names);
    // What was asked for last is answered: all that came before on its stream has been, too.
    for (const [index, stream] of streams.entries()) {
      const last = names[Math.min(guessed, (index + 1) * topicsPerStream) - 1];
      await stream.messages.nextMatching(
        ({ value }) => "topic" in value && value.topic === last,
        "all are known to be missing",
      );
    }
    const bytes = async (): Promise<number> =>
      (await (await fetch(`${proxy.management}/status?agents`)).text()).length;
    await eventually(async () => (await bytes()) < 1_000, "the answer is short");
    expect((await told()).map((row) => row.topic)).to.deep.equal([topic]);
  });

  it(`is read page by page where ${real} FeatureFlags have agents, each of them once`, async () => {
    const names = Array.from({ length: real }, (_, index) => `default/f${index}`);
    await subscribeAll(names);
    await eventually(async () => (await told()).length === real, "all are counted");
    expect((await told()).map((row) => row.topic)).to.have.members(names);
    const { topics, next } = (await (await fetch(`${proxy.management}/status?agents&from=0`)).json()) as {
      readonly topics: readonly unknown[];
      readonly next: number;
    };
    expect([topics.length, next]).to.deep.equal([1_000, 1_000]);
  });

  it("counts an agent that does not acknowledge as behind, whatever others acknowledge or refuse in its place", async () => {
    const honest = await agent();
    await untilRow(({ current }) => current === 1, "the agent is current");
    const forger = await peer();
    forger.subscribe(topic);
    const { version } = await forger.next("snapshot");
    const digest = version?.digest ?? Buffer.alloc(0);
    forger.ack(topic, digest);
    await untilRow(({ current }) => current === 2, "both are current");

    honest.hush();
    directory.replace("f0.yaml", manifest("f0", 2));
    const edit = await forger.messages.nextMatching(({ value }) => "version" in value, "the edit");
    const newest = "version" in edit.value ? (edit.value.version?.digest ?? digest) : digest;
    for (let time = 0; time < 50; time++) forger.ack(topic, newest, [], edit.number);
    forger.nack(topic, "no", { held: newest, number: edit.number });
    await forger.fence();
    // One that acknowledges what it was never sent loses its subscription.
    const stranger = await peer();
    stranger.subscribe(topic);
    await stranger.next("snapshot");
    stranger.ack(topic, newest, [], 1_000_000);
    await stranger.next("topicError");
    await untilRow(({ subscribers }) => subscribers === 2, "the stranger is not counted");
    expect(await rowOf(topic)).to.deep.include({ subscribers: 2, current: 1, refusing: 0 });
    expect((await told()).length).to.equal(1);
  });
});
