import { mkdirSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { AgentConnection } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { manifest, versionOf } from "../support/manifests.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { SyncSubscription } from "../support/stock-sync-client.js";
import { Tiers, untilStale } from "../support/tiers.js";

const topic = "team-a/checkout";

describe("bunting-proxy with --source upstream through outages", () => {
  let tiers: Tiers;
  beforeEach(() => {
    tiers = new Tiers();
  });
  afterEach(() => tiers.close());

  const edit = (version: number): void =>
    tiers.directory.replace("checkout.yaml", manifest("checkout", version, "team-a"));
  const nextVersion = async ({ messages }: SyncSubscription): Promise<number> =>
    versionOf((await messages.nextEvent("a version")).text);

  it("brings the last of several edits that were made while the middle was away, and nothing between", async () => {
    edit(1);
    const root = await tiers.root();
    const middle = await tiers.tier(root.sync);
    const service = await tiers.openSwitch(middle);
    const leaf = await tiers.tier(`127.0.0.1:${service.port}`);
    const subscription = tiers.subscribe(leaf, topic);
    const witness = tiers.subscribe(root, topic);
    expect([await nextVersion(subscription), await nextVersion(witness)]).to.deep.equal([1, 1]);
    await middle.process.stop("SIGKILL");
    await untilStale(leaf, 1);
    for (const version of [2, 3, 4]) {
      edit(version);
      expect(await nextVersion(witness)).to.equal(version);
    }
    service.setBackends([portOf(await tiers.tier(root.sync))]);
    expect(await nextVersion(subscription)).to.equal(4);
    await untilStale(leaf, 0);
  });

  it("serves its copies after a restart without its upstream, and then what was edited meanwhile", async () => {
    const cache = ["--cache-dir", tiers.directory.file("cache")];
    const copies = "bunting_proxy_source_unconfirmed_topics";
    edit(1);
    const root = await tiers.root();
    const service = await tiers.openSwitch(root);
    const upstream = `127.0.0.1:${service.port}`;
    const before = await tiers.tier(upstream, cache);
    expect(await nextVersion(tiers.subscribe(before, topic))).to.equal(1);
    edit(2);
    await before.process.stop("SIGTERM");
    service.setBackends([]);
    const leaf = await tiers.tier(upstream, cache);
    const below = await tiers.tier(leaf.sync);
    const subscription = tiers.subscribe(below, topic);
    const copied = await nextVersion(subscription);
    // The edit may have come before the leaf was stopped.
    expect(copied).to.be.oneOf([1, 2]);
    expect(await readMetric(leaf.management, copies)).to.equal(1);
    await untilStale(below, 1);
    edit(3);
    service.setBackends([portOf(root)]);
    let served = await nextVersion(subscription);
    // The root may be asked before it has read the last edit.
    if (served === 2 && copied === 1) served = await nextVersion(subscription);
    expect(served).to.equal(3);
    expect(await readMetric(leaf.management, copies)).to.equal(0);
    await untilStale(below, 0);
  });

  describe("of a cluster", () => {
    let api: FaultyApiServer;
    const spec = (state: string) => ({ flagSpec: { flags: { f: { state, variants: { a: 1 } } } } });

    beforeEach(async () => {
      api = await FaultyApiServer.start();
      tiers.onClose(() => api.close());
      mkdirSync(tiers.directory.file("account"));
      writeFileSync(tiers.directory.file("account/token"), "any");
      writeFileSync(tiers.directory.file("account/ca.crt"), api.ca);
    });

    const startInPod = async (): Promise<ProxyProcess> => {
      const environment = {
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(api.port),
      };
      const pod = { directory: tiers.directory.file("account"), environment };
      const proxy = await startProxyInPod(pod, ["--drain-delay", "0", "--drain-window", "0"]);
      tiers.onClose(() => proxy.process.stop("SIGKILL"));
      return proxy;
    };

    it("has the first level read again when an agent holds a newer version than the third has, and keeps the agent on it until then", async () => {
      api.put("team-a", "checkout", spec("ENABLED"));
      const leaf = await tiers.tier((await tiers.tier((await startInPod()).sync)).sync);
      const subscription = tiers.subscribe(leaf, topic);
      await subscription.messages.nextEvent("the first version");
      // The watch is open and says nothing any more.
      for (const watch of api.watches()) watch.hold();
      const { metadata } = api.put("team-a", "checkout", spec("DISABLED"));
      const connection = await AgentConnection.open(portOf(leaf));
      tiers.onClose(() => connection.close());
      const agent = connection.stream();
      const { uid, generation, resourceVersion } = metadata;
      const held = { uid, generation: String(generation), resourceVersion, digest: Buffer.alloc(32, 7) };
      agent.subscribe(topic, held);
      const first = await agent.next("snapshot");
      expect(first.version?.resourceVersion, "not the version before").to.equal(resourceVersion);
      expect(first.document.toString()).to.contain("DISABLED");
      const { flags } = await subscription.messages.nextEvent("what the read found");
      expect(flags["f"]).to.include({ state: "DISABLED" });
      await eventually(
        async () => (await readMetric(leaf.management, "bunting_proxy_subscriber_held_back")) === 0,
        "nobody is held back",
      );
    });
  });
});
