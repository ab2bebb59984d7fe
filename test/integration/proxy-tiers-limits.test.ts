import { networkInterfaces } from "node:os";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { SyncSubscription } from "../support/stock-sync-client.js";
import { Tiers, upstreamFailures } from "../support/tiers.js";

const streams = "bunting_proxy_upstream_streams";
/** Loopback has no limit by address. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address;

describe("bunting-proxy with --source upstream and many topics or levels", function () {
  this.timeout(120_000);
  let tiers: Tiers;
  beforeEach(() => {
    tiers = new Tiers();
  });
  afterEach(() => tiers.close());

  const writeFlags = (count: number, version = 1): void => {
    for (let i = 0; i < count; i++)
      tiers.directory.replace(`f-${i}.yaml`, manifest(`f-${i}`, version, "team-a"));
  };
  const refusals = ({ management }: ProxyProcess): Promise<number> =>
    readMetric(management, 'bunting_proxy_upstream_messages_total{kind="topic_error"}', 0);

  it("takes 2,000 topics from one upstream, both with the defaults, over as many connections as that needs", async function () {
    if (outside === undefined) this.skip();
    const count = 2_000;
    writeFlags(count);
    const root = await tiers.root(["--host", "0.0.0.0"]);
    const leaf = await tiers.tier(`${outside}:${portOf(root)}`, ["--max-topics-per-connection", "0"]);
    const subscriptions: SyncSubscription[] = [];
    const client = (from: number): void => {
      const one = tiers.client(leaf);
      for (let i = from; i < from + 500; i++)
        subscriptions.push(one.subscribe({ selector: `team-a/f-${i}` }));
    };
    for (let from = 0; from < count; from += 500) client(from);
    for (const { messages } of subscriptions) await messages.nextEvent("the flags");
    expect(await refusals(leaf)).to.equal(0);
    expect(await readMetric(leaf.management, streams)).to.equal(Math.ceil(count / 24));
    tiers.directory.replace("f-1999.yaml", manifest("f-1999", 2, "team-a"));
    await subscriptions.at(-1)?.messages.nextEvent("an edit of the last one");
  });

  it("finds places for topics while the upstream still counts those that were left", async () => {
    writeFlags(60);
    const root = await tiers.root();
    const leaf = await tiers.tier(root.sync, ["--topic-linger", "0", "--max-topics-per-connection", "0"]);
    const client = tiers.client(leaf);
    const serve = async (from: number): Promise<void> => {
      const subscriptions = Array.from({ length: 20 }, (_, i) =>
        client.subscribe({ selector: `team-a/f-${from + i}` }),
      );
      for (const { messages } of subscriptions) await messages.nextEvent("the flags");
      for (const subscription of subscriptions) subscription.cancel();
    };
    for (const from of [0, 20, 40, 0]) await serve(from);
    expect(await refusals(leaf)).to.equal(0);
  });

  it("lets eight proxies follow each other, and says why the ninth can't", async () => {
    writeFlags(1);
    let last = await tiers.root();
    for (let level = 2; level <= 8; level++) last = await tiers.tier(last.sync);
    await tiers.subscribe(last, "team-a/f-0").messages.nextEvent("the flags, through eight");
    const ninth = await tiers.tier(last.sync);
    await eventually(async () => (await upstreamFailures(ninth, "depth")) > 0, "the ninth is refused");
    expect(ninth.process.output).to.contain("at most 8 may follow each other");
    expect(await upstreamFailures(last, "depth")).to.equal(0);
  });
});
