import { setTimeout as delay } from "node:timers/promises";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { rolloutAnnotations } from "@bunting/featureflags/resources";
import { readAgents } from "@bunting/operator/internal/controllers/agents/read-agents.js";
import type { TopicAgents } from "@bunting/operator/internal/controllers/agents/told-agents.js";
import { FlagRollouts } from "@bunting/operator/internal/controllers/push/flag-rollouts.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { KubeError, type KubeObject } from "@bunting/kube";
import { createRegistry, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { recordingLogger } from "../support/grpc-port.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import { Replica } from "../support/replica.js";
import { Tiers } from "../support/tiers.js";

const [namespace, name] = ["team-a", "checkout"];
const topic = `${namespace}/${name}` as const;
const agentCount = 1_000;
const perConnection = 250;
const lookMs = 20;

/** A flag whose value is the version. Agents refuse it if it is bad, as no agent can serve it. */
function flagSpec(version: number, isBad = false): object {
  const flag = { state: "ENABLED", variants: { v: version }, defaultVariant: isBad ? "gone" : "v" };
  return { flags: { version: flag } };
}

/** An agent: what it was sent last, and all that it was ever sent. */
interface Agent {
  readonly stream: AgentClientStream;
  readonly sent: string[];
}

/** A thousand agents that answer as agents do, spread over proxies. */
class Agents {
  readonly all: Agent[] = [];
  readonly #connections: AgentConnection[] = [];
  #isOver = false;

  /** The agents of the same number have the same name each time. */
  async start(proxies: readonly ProxyProcess[], count = agentCount): Promise<void> {
    const share = Math.ceil(count / proxies.length);
    let number = 0;
    for (const proxy of proxies) {
      let connection: AgentConnection | undefined;
      for (let each = 0; each < share && number < count; each++, number++) {
        if (connection === undefined || each % perConnection === 0) {
          connection = await AgentConnection.open(portOf(proxy));
          this.#connections.push(connection);
        }
        const stream = connection.stream(false);
        const instance = `checkout-${number}`;
        stream.send({ $case: "hello", value: { agent: "test/1", providerId: "", instance } });
        stream.subscribe(topic);
        this.all.push({ stream, sent: [] });
      }
    }
    void this.#answer();
  }

  /** How many have been sent this version, ever. */
  sent(text: string): number {
    return this.all.filter(({ sent }) => sent.includes(text)).length;
  }

  /** How many have this version now. */
  have(text: string): number {
    return this.all.filter(({ sent }) => sent.at(-1) === text).length;
  }

  close(): void {
    this.#isOver = true;
    for (const connection of this.#connections) connection.close();
  }

  async #answer(): Promise<void> {
    while (!this.#isOver) {
      await delay(lookMs);
      for (const agent of this.all) while (agent.stream.messages.size > 0) await this.#take(agent);
    }
  }

  async #take({ stream, sent }: Agent): Promise<void> {
    const message = await stream.messages.nextEvent();
    if (!("version" in message.value)) return;
    const { version } = message.value;
    const text =
      message.$case === "snapshot"
        ? message.value.document.toString()
        : message.$case === "delta"
          ? String(message.value.flags[0]?.flag)
          : "";
    if (text !== "") sent.push(/"v":(\d+)/.exec(text)?.[1] ?? "?");
    const refused = text.includes("gone") ? [{ key: "version", reason: 'it has no variant "gone"' }] : [];
    stream.ack(topic, version?.digest, refused, message.number);
  }
}

describe("a rollout to a thousand agents of three replicas", function () {
  this.timeout(180_000);
  const cleanUps: (() => unknown)[] = [];
  let api: FaultyApiServer;
  let replicas: readonly Replica[];
  let proxies: ProxyProcess[];
  let agents: Agents;
  let rollouts: FlagRollouts;
  let tiers: Tiers;
  let redis: RedisServer;

  before(function () {
    needsRedisServer(this);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  const object = (): KubeObject => {
    const [found] = api.objects({});
    if (found === undefined) throw new KubeError("NOT_FOUND", "gone");
    return found as unknown as KubeObject;
  };
  const rollout = (): { readonly phase?: string; readonly wave?: number; readonly reach?: number } =>
    (object()["status"] as { readonly rollout?: object } | undefined)?.rollout ?? {};
  const put = (version: number, isBad = false, annotations = {}): void => {
    const spec = { flagSpec: flagSpec(version, isBad), rollout: { waves: [1, 10], observe: "1s" } };
    api.put(namespace, name, spec, { annotations });
    rollouts.changed(topic);
  };
  const isIn = (phase: string): Promise<void> =>
    eventually(() => rollout().phase === phase, `the phase ${phase}`, 120_000).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(object()["status"])}`);
    });

  /** The operator's part: it asks each replica, and writes the status. */
  function startRollouts(): void {
    rollouts = new FlagRollouts({
      client: {
        get: () => Promise.resolve(object()),
        apply: (_, written) => {
          const { status } = written as { readonly status?: object };
          const { metadata, ["spec"]: spec } = object();
          api.put(namespace, name, spec, { annotations: metadata.annotations ?? {}, status });
          // As its watch would.
          rollouts.changed(topic);
          return Promise.resolve(object());
        },
      },
      proxies: {
        read: async (signal) => {
          const told = await Promise.all(
            replicas.map(({ proxy: { management } }): Promise<readonly TopicAgents[] | undefined> => {
              const { hostname: host, port } = new URL(management);
              return readAgents({ host, port: Number(port), token: "" }, signal).catch(() => undefined);
            }),
          );
          return told.every((one) => one !== undefined) ? told : undefined;
        },
      },
      events: { record: () => undefined },
      context: {
        clock: systemClock,
        logger: recordingLogger(),
        metrics: operatorMetrics(createRegistry(false)),
      },
    });
    const abort = new AbortController();
    const running = rollouts.run(abort.signal);
    cleanUps.push(async () => {
      abort.abort();
      await running;
    });
  }

  /** @param tierCount proxies that are fed by a replica each, and have as many agents as a replica */
  async function begin(tierCount: number): Promise<void> {
    redis = await RedisServer.start();
    cleanUps.push(() => redis.stop());
    api = await FaultyApiServer.start();
    cleanUps.push(() => api.close());
    tiers = new Tiers();
    cleanUps.push(() => tiers.close());
    const names = ["replica-1", "replica-2", "replica-3"];
    replicas = await Promise.all(
      names.map((one) => Replica.start({ name: one, api, redisPort: redis.port })),
    );
    cleanUps.push(() => Promise.all(replicas.map((replica) => replica.stop())));
    proxies = replicas.map(({ proxy }) => proxy);
    for (const { sync } of proxies.slice(0, tierCount)) proxies.push(await tiers.tier(sync));
    startRollouts();
    put(1);
    await isIn("Whole");
    agents = new Agents();
    cleanUps.push(() => agents.close());
    await agents.start(proxies);
    await eventually(() => agents.have("1") === agentCount, "all have the first", 60_000);
  }

  /** Agents that come back, at a proxy that has not seen the version before, get what they had. */
  async function expectSameWave(proxy: ProxyProcess): Promise<void> {
    const back = new Agents();
    cleanUps.push(() => back.close());
    await back.start([proxy], perConnection);
    await eventually(() => back.all.every(({ sent }) => sent.length > 0), "all have something", 60_000);
    const newest = ({ sent }: Agent): string | undefined => sent.at(-1);
    expect(back.all.map(newest)).to.deep.equal(agents.all.slice(0, perConnection).map(newest));
    expect(back.sent("2")).to.be.greaterThan(0);
    for (const { sent } of back.all) expect(sent, "one version alone").to.have.length(1);
    back.close();
  }

  it("is in one agent of a hundred, then in ten, then in all; nobody has a version between", async () => {
    await begin(0);
    put(2);
    await eventually(() => rollout().wave === 1 && agents.have("2") > 0, "the first wave", 60_000);
    await eventually(() => rollout().wave === 2, "the second wave", 60_000);
    expect(agents.sent("2")).to.be.within(3, 25);
    await eventually(() => rollout().phase === "Whole", "the end", 60_000);
    expect(agents.sent("2")).to.be.within(70, agentCount);
    await eventually(() => agents.have("2") === agentCount, "all have it", 60_000);
    for (const { sent } of agents.all) expect(sent).to.deep.equal(["1", "2"]);
  });

  it("goes to agents of proxies that are fed by replicas as to all others, and reaches no more than the first wave if they refuse it", async () => {
    await begin(2);
    put(2);
    await eventually(() => rollout().wave === 1 && agents.have("2") > 0, "the first wave", 60_000);
    await eventually(() => rollout().wave === 2, "the second wave", 60_000);
    expect(agents.sent("2")).to.be.within(3, 25);
    await eventually(() => agents.have("2") === agentCount, "all have it", 120_000);
    const byTier = agents.all.slice(-200);
    expect(
      byTier.some(({ sent }) => sent.length > 2),
      "nobody has a version twice",
    ).to.equal(false);
    await isIn("Whole");
    put(3, true);
    await isIn("Halted");
    expect(rollout()).to.include({ wave: 1, reach: 100 });
    expect(agents.sent("3")).to.be.within(3, 25);
    expect(agents.have("3")).to.equal(agents.sent("3"));
  });

  it("reaches no more than the first wave with a version that agents refuse, at all replicas and when one starts again", async () => {
    await begin(0);
    put(2, true);
    await isIn("Halted");
    const first = agents.sent("2");
    expect(first).to.be.within(3, 25);
    expect(rollout()).to.include({ wave: 1, reach: 100 });
    const replica = await Replica.start({ name: "replica-4", api, redisPort: redis.port });
    cleanUps.push(() => replica.stop());
    await expectSameWave(replica.proxy);
    await expectSameWave(await tiers.tier(replica.proxy.sync));
    put(2, true, { [rolloutAnnotations.aborted]: String((rollout() as { digest?: string }).digest) });
    await isIn("Aborted");
    await eventually(() => agents.have("1") === agentCount, "all have the first back", 60_000);
    expect(agents.sent("2")).to.equal(first);
    put(3);
    await eventually(() => agents.have("3") === agentCount, "the next is for all", 120_000);
    expect(agents.sent("2"), "in the end").to.equal(first);
  });
});
