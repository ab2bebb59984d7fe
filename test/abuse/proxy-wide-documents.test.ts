import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream, type AgentResponse } from "../support/agent-client.js";
import { eventually, lookMs } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { MemoryCgroup } from "../support/memory-cgroup.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { TempDirectory } from "../support/temp-directory.js";
import { mebibyte } from "./support/vitals.js";

const limitBytes = 512 * mebibyte;
/** The proxy has memory for some thirty. */
const featureFlags = scaled(300, 60);
/** A namespace may not hold all of the memory by itself, and these together may. */
const namespaces = 30;
const topicsPerStream = 8;
const flagsPerDocument = 14;

/** Close to the largest FeatureFlag that etcd takes. */
function specOf(flagBytes: number, character: string): object {
  const flag = {
    state: "ENABLED",
    variants: { is: character.repeat(flagBytes / Buffer.byteLength(character)) },
    defaultVariant: "is",
  };
  const names = Array.from({ length: flagsPerDocument }, (_, i) => `flag-${i}`);
  return { flagSpec: { flags: Object.fromEntries(names.map((name) => [name, flag])) } };
}

const topics = Array.from({ length: featureFlags }, (_, i): TopicKey => `team-${i % namespaces}/flags-${i}`);

const wide = { "characters of three bytes": "語" };
const texts: Readonly<Record<string, string>> = scaled({ ...wide, ASCII: "x" }, wide);

describe("a proxy in a container of 512 MiB whose FeatureFlags all grow to what etcd takes", function () {
  this.timeout(300_000);
  const cleanUps: (() => unknown)[] = [];
  let group: MemoryCgroup;
  let api: FaultyApiServer;
  let proxy: ProxyProcess;
  let streams: AgentClientStream[];
  let answers: Map<TopicKey, AgentResponse>;

  before(function () {
    if (!MemoryCgroup.isAvailable) this.skip();
  });
  beforeEach(async () => {
    streams = [];
    answers = new Map();
    group = new MemoryCgroup(limitBytes);
    cleanUps.push(() => group.remove());
    api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    for (const topic of topics) put(topic, specOf(0, "x"));
    const account = new TempDirectory();
    cleanUps.push(() => account.remove());
    account.replace("token", "any");
    account.replace("ca.crt", api.ca);
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    proxy = await startProxyInPod({ directory: account.path, environment }, [], { wrapper: group.wrapper });
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function put(topic: TopicKey, spec: object): void {
    const [namespace = "", name = ""] = topic.split("/");
    api.put(namespace, name, spec);
  }

  /** Subscribes to all of them. */
  async function follow(): Promise<void> {
    for (let from = 0; from < featureFlags; from += topicsPerStream) {
      const connection = await AgentConnection.open(portOf(proxy));
      cleanUps.push(() => connection.close());
      const stream = connection.stream(false);
      streams.push(stream);
      stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", readsFreshness: true } });
      for (const topic of topics.slice(from, from + topicsPerStream)) stream.subscribe(topic);
    }
    await until(() => answers.size === featureFlags, "all are served");
  }

  /** Reads what has arrived, and acknowledges it, until the condition holds. */
  async function until(condition: () => boolean, what: string): Promise<void> {
    const look = async (): Promise<boolean> => {
      for (const stream of streams)
        while (stream.messages.size > 0) take(stream, await stream.messages.nextEvent());
      return condition();
    };
    await eventually(look, what, undefined, lookMs);
    expect(group.kills, `killed for its memory: ${what}`).to.equal(0);
  }

  function take(stream: AgentClientStream, message: AgentResponse): void {
    if (!("topic" in message.value)) return;
    const topic = message.value.topic as TopicKey;
    answers.set(topic, message);
    if ("version" in message.value) stream.ack(topic, message.value.version?.digest);
  }

  /** An edit, and whatever the proxy says of it. */
  async function edit(topic: TopicKey, spec: object): Promise<void> {
    const before = answers.get(topic);
    put(topic, spec);
    await until(() => answers.get(topic) !== before, `an answer about ${topic}`);
  }

  const stale = (): TopicKey[] => topics.filter((topic) => answers.get(topic)?.$case === "freshness");

  for (const [text, character] of Object.entries(texts))
    it(`says of those that do not fit that they are stale, and serves each when others shrink (${text})`, async () => {
      await follow();
      for (const topic of topics) await edit(topic, specOf(90_000, character));
      const waiting = stale();
      const served = topics.filter((topic) => !waiting.includes(topic));
      expect(waiting.length).to.be.greaterThan(0);
      // Each makes room for another, which nobody edits again.
      for (const topic of served) await edit(topic, specOf(3, "x"));
      const left = Math.max(0, waiting.length - Math.floor(served.length / 2));
      await until(() => stale().length <= left, "others are served");
    });
});
