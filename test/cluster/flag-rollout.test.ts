import { expect } from "chai";
import { runBunting, type CliRun } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { flagsOf, RolloutWorld } from "./support/rollout-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const agentCount = 4;
const seconds = 1_000;

describe("a FeatureFlag with spec.rollout, on a real API server", function () {
  this.timeout(180 * seconds);
  const cluster = sharedCluster();
  let world: RolloutWorld;

  /** Orders of docs/operate/progressive-push.md. */
  const bunting = (task: string): Promise<CliRun> =>
    runBunting(["rollout", task, `${world.home.shop}/flags`, "--kubeconfig", cluster().kubeconfig]);

  before(async () => {
    world = await RolloutWorld.start(cluster(), agentCount);
  });
  after(() => world.stop());

  it("has one agent try an edit, then all have it, and who speaks flagd.sync.v1 with them", async () => {
    const stock = new StockSyncClient(world.proxy.sync);
    const { messages } = stock.subscribe({ selector: `${world.home.shop}/flags` });
    const next = async (): Promise<unknown> => {
      const { flags } = await messages.nextEvent("flags");
      return (flags["version"] as { readonly variants: { readonly v: number } }).variants.v;
    };
    expect(await next()).to.equal(1);
    await world.put(2);
    await eventually(
      async () => (await world.values()).includes(2),
      "the first agent has the edit",
      60 * seconds,
    );
    expect((await world.values()).toSorted(), "one of four").to.deep.equal([1, 1, 1, 2]);
    expect((await world.flag()).status?.rollout).to.include({ phase: "Progressing", wave: 1 });
    await world.have(2);
    expect(await next(), "nothing between").to.equal(2);
    stock.close();
    await world.isIn("Whole");
  });

  it("halts with one agent that refuses it, says so, keeps it from a proxy that starts, and is given up", async () => {
    await world.put(3, true);
    await world.isIn("Halted");
    expect(await world.values()).to.deep.equal([2, 2, 2, 2]);
    const status = await bunting("status");
    expect(status.code).to.equal(1);
    expect(status.out).to.contain("Halted, wave 1 of 2, 1 % of the agents").and.contain("version: ");
    const address = new URL(world.proxy.management).host;
    const { out } = await runBunting(["status", "--address", address]);
    expect(out).to.match(
      new RegExp(`${world.home.shop}/flags \\w{8} goes to 1 of 4 agents here, and \\d have it, 1 refusal `),
    );
    // It has never seen the version before, and reads both from the API server.
    await world.replaceProxy();
    const stock = new StockSyncClient(world.proxy.sync);
    const { flags } = await stock
      .subscribe({ selector: `${world.home.shop}/flags` })
      .messages.nextEvent("flags");
    expect(flags["version"]).to.have.deep.property("variants", { v: 2 });
    stock.close();
    expect((await bunting("abort")).code).to.equal(0);
    await world.isIn("Aborted");
    expect(await world.values()).to.deep.equal([2, 2, 2, 2]);
    await world.put(4);
    await world.have(4);
  });

  it("halts when evaluations of the first agent fail that did not before", async () => {
    await world.isIn("Whole");
    const rollout = { waves: [1], observe: "20s" };
    const other = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    await world.home.put("FeatureFlag", "flags", { flagSpec: { flags: { other } }, rollout });
    await eventually(
      async () => {
        await world.values();
        return (await world.flag()).status?.rollout?.phase === "Halted";
      },
      "the phase Halted",
      60 * seconds,
    );
    expect((await world.values()).toSorted(), "one of four").to.deep.equal([4, 4, 4, undefined]);
    expect((await bunting("status")).out).to.contain("version: its evaluations fail since this version: ");
    await world.put(4);
    await world.have(4);
  });

  it("pauses, and is resumed", async () => {
    await world.isIn("Whole");
    await bunting("pause");
    await world.put(5);
    await world.isIn("Paused");
    expect(await world.values()).to.deep.equal([4, 4, 4, 4]);
    expect((await bunting("resume")).code).to.equal(0);
    await world.have(5);
  });

  it("refuses what is no rollout", async () => {
    const refusal = async (rollout: object): Promise<string> =>
      world.home.put("FeatureFlag", "flags", { flagSpec: flagsOf(5), rollout }).then(
        () => "accepted",
        (error: unknown) => String(error),
      );
    expect(await refusal({ waves: [10, 10] })).to.contain("each wave has another percentage");
    expect(await refusal({ waves: [0] })).to.contain("waves");
    expect(await refusal({ observe: "soon" })).to.contain("it is a duration");
  });
});
