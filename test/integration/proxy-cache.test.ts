import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { canonicalJson, type buntingSyncV1, type JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { HeldFlags } from "../support/held-flags.js";
import { checkoutManifest } from "../support/manifests.js";
import { startProxy, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { ServiceProcess } from "../support/service-process.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { TcpSwitch } from "../support/tcp-switch.js";
import { TempDirectory } from "../support/temp-directory.js";

const selector = "team-a/checkout";
const quickDrain = ["--drain-delay", "0", "--drain-window", "0"];
const unconfirmed = "bunting_proxy_source_unconfirmed_topics";
const staleTopics = 'bunting_proxy_topic_topics{state="stale"}';

function flagOf(now: number): JsonObject {
  return { state: "ENABLED", variants: { now }, defaultVariant: "now" };
}

describe("bunting-proxy with --cache-dir", () => {
  let directory: TempDirectory;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(() => {
    directory = new TempDirectory();
    mkdirSync(directory.file("flags"));
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    directory.remove();
  });

  const args = (): string[] => [...quickDrain, "--cache-dir", directory.file("cache")];
  const running = (proxy: ProxyProcess): ProxyProcess => {
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
    return proxy;
  };
  const start = async (): Promise<ProxyProcess> => running(await startProxy(directory.file("flags"), args()));
  const subscribe = (proxy: ProxyProcess): SyncSubscription => {
    const client = new StockSyncClient(proxy.sync);
    cleanUps.push(() => client.close());
    return client.subscribe({ selector });
  };
  const nextState = async ({ messages }: SyncSubscription, what: string): Promise<unknown> => {
    const { flags } = await messages.nextEvent(what);
    return (flags["f"] as { readonly state?: string } | undefined)?.state;
  };
  const edit = (state: string): void => directory.replace("flags/checkout.json", checkoutManifest(state));
  /** None before the proxy has made the directory, which it does when it starts. */
  const copies = (): string[] => {
    const cache = directory.file("cache");
    return existsSync(cache) ? readdirSync(cache) : [];
  };

  /** A proxy that has served this version, and was stopped. */
  async function serveOnce(state: string, signal: Parameters<ServiceProcess["stop"]>[0]): Promise<void> {
    edit(state);
    const proxy = await start();
    expect(await nextState(subscribe(proxy), "the flags")).to.equal(state);
    await eventually(() => copies().some((name) => name.endsWith(".flags")), "the copy");
    await proxy.process.stop(signal);
  }

  for (const signal of ["SIGTERM", "SIGKILL"] as const)
    it(`serves its copy after ${signal} while the flag directory is away, then what is there when it is back`, async () => {
      await serveOnce("ENABLED", signal);
      renameSync(directory.file("flags"), directory.file("elsewhere"));
      const proxy = await start();
      const subscription = subscribe(proxy);
      expect(await nextState(subscription, "the copy")).to.equal("ENABLED");
      expect(await readMetric(proxy.management, unconfirmed)).to.equal(1);
      expect(await readMetric(proxy.management, staleTopics)).to.equal(1);
      const status = await (await fetch(`${proxy.management}/status?format=json`)).text();
      expect(status).to.contain("stale");

      renameSync(directory.file("elsewhere"), directory.file("flags"));
      edit("DISABLED");
      expect(await nextState(subscription, "the edit")).to.equal("DISABLED");
      expect(await readMetric(proxy.management, unconfirmed)).to.equal(0);
      expect(await readMetric(proxy.management, staleTopics)).to.equal(0);
    });

  it("keeps an agent on what it holds, which may be newer, until the source has answered", async () => {
    await serveOnce("ENABLED", "SIGTERM");
    renameSync(directory.file("flags"), directory.file("elsewhere"));
    const proxy = await start();
    const connection = await AgentConnection.open(Number(proxy.sync.split(":")[1]));
    cleanUps.push(() => connection.close());
    const [fresh, resumed] = [connection.stream(), connection.stream()];
    resumed.subscribe(selector, { digest: Buffer.alloc(32, 7) });
    fresh.subscribe(selector);
    const first = await fresh.messages.nextEvent("the copy");
    expect(first.$case).to.equal("snapshot");
    await eventually(
      async () => (await readMetric(proxy.management, "bunting_proxy_subscriber_held_back")) === 1,
      "the other agent is held back",
    );
    expect(resumed.messages.size).to.equal(0);
    renameSync(directory.file("elsewhere"), directory.file("flags"));
    expect((await resumed.messages.nextEvent("the answer")).$case).to.equal("snapshot");
    expect(await readMetric(proxy.management, "bunting_proxy_subscriber_held_back")).to.equal(0);
  });

  describe("in a cluster", () => {
    const flagSpec = (state: string) => ({ flagSpec: { flags: { f: { state, variants: { a: 1 } } } } });
    let api: FaultyApiServer;
    let service: TcpSwitch;
    beforeEach(async () => {
      api = await FaultyApiServer.start();
      service = await TcpSwitch.start();
      service.setBackends([api.port]);
      mkdirSync(directory.file("account"));
      writeFileSync(directory.file("account/token"), "any");
      writeFileSync(directory.file("account/ca.crt"), api.ca);
    });
    afterEach(async () => {
      await service.close();
      await api.close();
    });

    const startInPod = async (): Promise<ProxyProcess> => {
      const environment = {
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(service.port),
      };
      return running(await startProxyInPod({ directory: directory.file("account"), environment }, args()));
    };

    it("is ready with its copies while the API server is away, and says that flags may be stale", async () => {
      api.put("team-a", "checkout", flagSpec("ENABLED"));
      const before = await startInPod();
      expect(await nextState(subscribe(before), "the flags")).to.equal("ENABLED");
      await eventually(() => copies().some((file) => file.endsWith(".flags")), "the copy");
      await before.process.stop("SIGTERM");
      service.setBackends([]);
      service.cut();
      const startedMs = performance.now();
      const proxy = await startInPod();

      const readiness = async (): Promise<string> => (await fetch(`${proxy.management}/readyz`)).text();
      const stale = "ready, but flags may be stale: the source has not been read for the first time yet\n";
      await eventually(async () => (await readiness()) === stale, "readiness");
      // Without copies it is ready after 10 s, whatever it has.
      expect(performance.now() - startedMs).to.be.below(10_000);
      expect(await nextState(subscribe(proxy), "the copy")).to.equal("ENABLED");
      service.setBackends([api.port]);
      await eventually(async () => (await readiness()) === "ready\n", "the source");
    });

    describe("with an agent that holds a version before the copy, and an edit while there was no proxy", () => {
      const ballast = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`other-${i}`, flagOf(0)]));
      const put = (key: string): unknown =>
        api.put("team-a", "checkout", { flagSpec: { flags: { ...ballast, [key]: flagOf(1) } } });
      const agentOf = async ({ sync }: ProxyProcess): Promise<AgentClientStream> => {
        const connection = await AgentConnection.open(Number(sync.split(":")[1]));
        cleanUps.push(() => connection.close());
        return connection.stream();
      };

      /** What an agent holds of a proxy that has ended since, after one more edit. */
      async function hold(): Promise<buntingSyncV1.Snapshot> {
        put("other-1");
        const before = await startInPod();
        const agent = await agentOf(before);
        agent.subscribe(selector);
        const held = await agent.next("snapshot");
        agent.ack(selector, held.version?.digest);
        put("other-2");
        await agent.next("delta");
        await before.process.stop("SIGTERM");
        return held;
      }

      /** Takes deltas until the agent has the last edit. */
      async function follow(agent: AgentClientStream, held: buntingSyncV1.Snapshot): Promise<void> {
        let now = HeldFlags.ofSnapshot(held);
        while (now.flags.get("other-3") !== canonicalJson(flagOf(1))) {
          const delta = await agent.next("delta");
          now = now.apply(delta);
          expect(now.digest).to.equal(delta.version?.digest.toString("hex"));
          agent.ack(selector, delta.version?.digest);
        }
        expect(agent.receivedBytes).to.be.lessThan(2_000);
      }

      it("brings it to the newest by deltas where the API server was away", async () => {
        const held = await hold();
        service.setBackends([]);
        service.cut();
        const proxy = await startInPod();
        const witness = await agentOf(proxy);
        witness.subscribe(selector);
        await witness.next("snapshot");
        put("other-3");
        service.setBackends([api.port]);
        const moved = await agentOf(proxy);
        moved.subscribe(selector, held.version);
        await follow(moved, held);
      });

      it("brings it to the newest by deltas where the API server answers at once, as soon as the copy was read", async () => {
        const held = await hold();
        put("other-3");
        const proxy = await startInPod();
        const witness = await agentOf(proxy);
        witness.subscribe(selector);
        await witness.next("snapshot");
        const isKnown = async (): Promise<boolean> => {
          const agent = await agentOf(proxy);
          agent.subscribe(selector, held.version);
          return (await agent.messages.nextEvent("an answer")).$case === "delta";
        };
        await eventually(isKnown, "the way from the version that the agent holds");
        const moved = await agentOf(proxy);
        moved.subscribe(selector, held.version);
        await follow(moved, held);
      });
    });

    it("starts without the API server: its copies are served, and then what changed while both were away", async () => {
      api.put("team-a", "checkout", flagSpec("ENABLED"));
      api.put("team-a", "gone", flagSpec("ENABLED"));
      const before = await startInPod();
      const client = new StockSyncClient(before.sync);
      cleanUps.push(() => client.close());
      await client.subscribe({ selector: "team-a/gone" }).messages.nextEvent("the flags");
      await nextState(subscribe(before), "the flags");
      await before.process.stop("SIGTERM");
      expect(copies().filter((name) => name.endsWith(".flags"))).to.have.length(2);

      service.setBackends([]);
      service.cut();
      const proxy = await startInPod();
      const subscription = subscribe(proxy);
      expect(await nextState(subscription, "the copy")).to.equal("ENABLED");
      const other = new StockSyncClient(proxy.sync);
      cleanUps.push(() => other.close());
      expect(await other.fetchAll("team-a/gone")).to.contain("ENABLED");
      expect(await readMetric(proxy.management, staleTopics)).to.equal(2);
      expect(await readMetric(proxy.management, unconfirmed)).to.equal(2);

      api.put("team-a", "checkout", flagSpec("DISABLED"));
      api.delete("team-a", "gone");
      service.setBackends([api.port]);
      expect(await nextState(subscription, "the edit")).to.equal("DISABLED");
      await eventually(
        async () => (await readMetric(proxy.management, unconfirmed)) === 0,
        "both are confirmed",
      );
      // Within its grace a deleted FeatureFlag is served as it was; its copy is gone for the next process.
      expect(await other.fetchAll("team-a/gone")).to.contain("ENABLED");
      await proxy.process.stop("SIGTERM");
      expect(copies().filter((name) => name.endsWith(".flags"))).to.have.length(1);
    });
  });
});
