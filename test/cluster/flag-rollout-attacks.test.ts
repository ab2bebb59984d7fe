import { setTimeout as delay } from "node:timers/promises";
import { rolloutAnnotations } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { portOf } from "../support/proxy-process.js";
import { seededRandom } from "../support/seeded-random.js";
import { metrics } from "./support/operator-home.js";
import { flagsOf, RolloutWorld } from "./support/rollout-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const seconds = 1_000;
const halted = "bunting_operator_flag_rollout_halted";

/** Owners of FeatureFlags who do what they can, and peers of the proxy that are no agents. */
describe("rollouts of a careless owner and of hostile agents, on a real API server", function () {
  this.timeout(240 * seconds);
  const cluster = sharedCluster();
  let world: RolloutWorld;
  const topic = (): `${string}/${string}` => `${world.home.shop}/flags`;
  const series = async (): Promise<readonly string[]> => [...(await metrics(world.operator, halted)).keys()];
  const quick = { waves: [1], observe: "1s" };
  const slow = { waves: [1], observe: "1h" };
  const annotate = (annotations: Readonly<Record<string, string | null>>): Promise<unknown> =>
    cluster().api.patch(world.path, { metadata: { annotations } });

  before(async () => {
    world = await RolloutWorld.start(cluster(), 3);
  });
  after(() => world.stop());

  it("are not called halted any more once the FeatureFlag is deleted", async () => {
    await world.put(2, true, quick);
    await world.isIn("Halted");
    await eventually(async () => (await series()).length === 1, "the gauge");
    await cluster().api.delete(world.path);
    await eventually(async () => (await series()).length === 0, "no gauge", 30 * seconds);
    await world.put(3, false, quick);
    await world.have(3);
    await world.isIn("Whole");
  });

  it("go to all when spec.rollout is removed in the middle, and leave nothing in the status", async () => {
    await world.put(4, false, slow);
    await eventually(async () => (await world.values()).includes(4), "the first wave", 60 * seconds);
    await world.home.put("FeatureFlag", "flags", { flagSpec: flagsOf(4) });
    await world.have(4);
    await eventually(
      async () => {
        const { status = {} } = await world.flag();
        return (
          status.rollout === undefined &&
          status.conditions?.some(({ type }) => type === "RolledOut") === false
        );
      },
      "nothing is said",
      60 * seconds,
    );
    await world.put(4, false, quick);
    await world.isIn("Whole");
  });

  it("hold no edit up once nobody asks the proxies any more, and go on when somebody does again", async () => {
    await world.replaceOperator("operator-alone", ["--status-agents=false"]);
    await eventually(
      async () => (await world.flag()).status?.rollout === undefined,
      "the status says nothing",
      60 * seconds,
    );
    await world.put(14, false, slow);
    await world.have(14);
    await world.replaceOperator("operator-asking");
    await world.isIn("Whole");
    await world.put(4, false, quick);
    await world.have(4);
    await world.isIn("Whole");
  });

  it("are not written to a version of the FeatureFlag that somebody has changed meanwhile", async () => {
    const { metadata } = await world.flag();
    await annotate({ note: "changed" });
    const { name, resourceVersion } = metadata;
    const body = {
      ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag" },
      ...{ metadata: { name, resourceVersion }, status: { flags: 1 } },
    };
    const path = `${world.path}/status?fieldManager=test&force=true`;
    const { status } = await cluster().api.request("PATCH", path, {
      body,
      contentType: "application/apply-patch+yaml",
    });
    expect(status).to.equal(409);
  });

  it("are held up by no peer that has gone: not one that never answers, nor one that lies as a proxy", async () => {
    const peers: AgentClientStream[] = [];
    const connection = await AgentConnection.open(portOf(world.proxy));
    for (let peer = 0; peer < 200; peer++) {
      const stream = connection.stream(false);
      stream.send({ $case: "hello", value: { agent: "x/1", providerId: "", instance: `x${peer}` } });
      stream.subscribe(topic());
      peers.push(stream);
    }
    const liar = connection.stream(false);
    const hello = { agent: "x/1", providerId: "", isProxy: true, readsTrials: true };
    liar.send({ $case: "hello", value: hello });
    liar.subscribe(topic());
    // What the tests before have done, it is told first.
    liar.ack(topic(), (await liar.until("snapshot")).version?.digest);
    await Promise.all(peers.map((peer) => peer.next("snapshot")));
    await world.put(5, false, quick);
    const { digest } = await liar.until("trial");
    const most = 2 ** 31 - 1;
    const counts = { reach: 0, agents: most, lowest: 0, wave: most, current: most, refusals: 0 };
    liar.send({ $case: "trialReport", value: { topic: topic(), digest, reason: "", ...counts } });
    await eventually(
      async () =>
        (await world.flag()).status?.conditions?.some(({ message }) => message.includes("wave 1")) === true,
      "it has begun, as far as is told",
      60 * seconds,
    );
    expect((await world.values()).filter((value) => value === 5).length).to.be.lessThan(3);
    connection.close();
    await annotate({ [rolloutAnnotations.resumed]: "without them" });
    await world.have(5);
    await world.isIn("Whole");
  });

  it("come to rest at the last version, whatever the owner has done, and whichever process was replaced", async () => {
    const random = seededRandom(20_261_128);
    const some = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const put = (): Promise<unknown> =>
      world.put(some([6, 7, 8, 9]), random() < 0.3, {
        ...some([quick, slow, { waves: [50, 1], observe: "0s" }, { waves: [], maxRefusing: 9 }]),
        paused: random() < 0.2,
      });
    const abort = async (): Promise<unknown> =>
      annotate({ [rolloutAnnotations.aborted]: (await world.flag()).status?.rollout?.digest ?? null });
    const deeds: readonly (() => Promise<unknown>)[] = [
      ...[put, put, put, put, put, put, abort],
      () => annotate({ [rolloutAnnotations.resumed]: String(random()), [rolloutAnnotations.aborted]: null }),
      () => world.home.put("FeatureFlag", "flags", { flagSpec: flagsOf(some([6, 7])) }),
      () => cluster().api.delete(world.path),
    ];
    for (let deed = 0; deed < 300; deed++) {
      // Some of them are refused, as there is no FeatureFlag to annotate or delete.
      await some(deeds)().catch(() => undefined);
      if (deed % 100 === 50) await world.replaceProxy();
      if (deed % 100 === 99) await world.replaceOperator(`operator-${deed}`);
      await delay(50);
    }
    await world.put(100, false, quick);
    await annotate({ [rolloutAnnotations.aborted]: null, [rolloutAnnotations.resumed]: "at last" });
    await world.have(100);
    await world.isIn("Whole");
    expect(await series()).to.deep.equal([]);
    await world.put(101, true, quick);
    await world.isIn("Halted");
    expect(await world.values(), "it is as careful as before").to.deep.equal([100, 100, 100]);
  });
});
