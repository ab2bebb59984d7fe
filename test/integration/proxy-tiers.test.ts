import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { AgentConnection } from "../support/agent-client.js";
import { Authority } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { checkoutManifest } from "../support/manifests.js";
import { startProxy, startProxyOn, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { StockSyncClient, type SyncSubscription } from "../support/stock-sync-client.js";
import { TcpSwitch } from "../support/tcp-switch.js";
import { TempDirectory } from "../support/temp-directory.js";

const selector = "team-a/checkout";
const quickDrain = ["--drain-delay", "0", "--drain-window", "0"];
const staleTopics = 'bunting_proxy_topic_topics{state="stale"}';
const messages = (kind: string): string => `bunting_proxy_upstream_messages_total{kind="${kind}"}`;

describe("bunting-proxy with --source upstream", () => {
  const cleanUps: (() => unknown)[] = [];
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    directory.remove();
  });

  const running = (proxy: ProxyProcess): ProxyProcess => {
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
    return proxy;
  };
  const root = async (args: readonly string[] = [], at = directory): Promise<ProxyProcess> =>
    running(await startProxy(at.path, [...quickDrain, ...args]));
  const tier = async (upstream: string, args: readonly string[] = []): Promise<ProxyProcess> =>
    running(await startProxyOn(`upstream:${upstream}`, [...quickDrain, ...args]));
  const subscribe = (proxy: ProxyProcess, topic = selector): SyncSubscription => {
    const client = new StockSyncClient(proxy.sync);
    cleanUps.push(() => client.close());
    return client.subscribe({ selector: topic });
  };
  const nextState = async (subscription: SyncSubscription, what: string): Promise<unknown> => {
    const { flags } = await subscription.messages.nextEvent(what);
    return (flags["f"] as { readonly state?: string } | undefined)?.state;
  };
  const edit = (state: string, at = directory): void => at.replace("checkout.json", checkoutManifest(state));
  const openSwitch = async (...proxies: readonly ProxyProcess[]): Promise<TcpSwitch> => {
    const opened = await TcpSwitch.start();
    cleanUps.push(() => opened.close());
    opened.setBackends(proxies.map(portOf));
    return opened;
  };
  const isStale = (proxy: ProxyProcess, count: number): Promise<void> =>
    eventually(async () => (await readMetric(proxy.management, staleTopics)) === count, `${count} stale`);

  it("serves through three levels what the first reads, each edit as a delta, and resumes when the middle was killed", async () => {
    const edit = (state: string): void => directory.replace("checkout.json", largeManifest(state));
    edit("ENABLED");
    const first = await root();
    const middle = await tier(first.sync);
    const service = await openSwitch(middle);
    const leaf = await tier(`127.0.0.1:${service.port}`);
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    edit("DISABLED");
    expect(await nextState(subscription, "the edit")).to.equal("DISABLED");

    await middle.process.stop("SIGKILL");
    await isStale(leaf, 1);
    expect(await readMetric(leaf.management, messages("snapshot"))).to.equal(1);
    expect(await readMetric(leaf.management, messages("delta"))).to.equal(1);
    service.setBackends([portOf(await tier(first.sync))]);
    await isStale(leaf, 0);
    expect(await readMetric(leaf.management, messages("unchanged"))).to.equal(1);
    expect(await readMetric(leaf.management, messages("snapshot"))).to.equal(1);
    edit("ENABLED");
    expect(await nextState(subscription, "the next edit")).to.equal("ENABLED");
  });

  it("sends what has changed while the connection was cut, and nothing that has not", async () => {
    edit("ENABLED");
    const first = await root();
    const service = await openSwitch(first);
    const leaf = await tier(`127.0.0.1:${service.port}`);
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    service.setBackends([]);
    service.cut();
    await isStale(leaf, 1);
    edit("DISABLED");
    service.setBackends([portOf(first)]);
    expect(await nextState(subscription, "the edit")).to.equal("DISABLED");
    await isStale(leaf, 0);
  });

  it("goes on with another upstream when one is killed", async () => {
    edit("ENABLED");
    const proxies = [await root(), await root()];
    const leaf = await tier(proxies.map(({ sync }) => sync).join());
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    const [used, other] = await order(proxies);
    await used.process.stop("SIGKILL");
    await eventually(async () => (await activeStreams(other)) === 1, "the other one is used");
    edit("DISABLED");
    expect(await nextState(subscription, "an edit")).to.equal("DISABLED");
  });

  it("says of a missing FeatureFlag that it is missing, and serves it when it is made", async () => {
    const leaf = await tier((await tier((await root()).sync)).sync);
    const connection = await AgentConnection.open(portOf(leaf));
    cleanUps.push(() => connection.close());
    const agent = connection.stream();
    agent.subscribe(selector);
    expect((await agent.messages.nextEvent("that it is missing")).$case).to.equal("missing");
    edit("ENABLED");
    expect((await agent.messages.nextEvent("the flags")).$case).to.equal("snapshot");
  });

  it("passes a deletion on with the policy of the first level, and waits for no grace of its own", async () => {
    edit("ENABLED");
    const first = await root(["--deletion-grace", "10ms", "--deletion-policy", "empty"]);
    const leaf = await tier((await tier(first.sync)).sync);
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    rmSync(directory.file("checkout.json"));
    expect((await subscription.messages.nextEvent("the deletion")).flags).to.deep.equal({});
    edit("DISABLED");
    expect(await nextState(subscription, "the next one")).to.equal("DISABLED");
  });

  it("is stale while the first level can't read its source, over another level between them", async () => {
    writeFileSync(directory.file("keep"), "");
    const flags = new TempDirectory();
    cleanUps.push(() => flags.remove());
    edit("ENABLED", flags);
    const leaf = await tier((await tier((await root([], flags)).sync)).sync);
    expect(await nextState(subscribe(leaf), "the flags")).to.equal("ENABLED");
    renameSync(flags.path, directory.file("elsewhere"));
    await isStale(leaf, 1);
    renameSync(directory.file("elsewhere"), flags.path);
    await isStale(leaf, 0);
  });

  it("serves two clusters under prefixes, and says which there are", async () => {
    const us = new TempDirectory();
    cleanUps.push(() => us.remove());
    edit("ENABLED");
    edit("DISABLED", us);
    const edge = await tier(`${(await root()).sync};${(await root([], us)).sync}`, [
      "--topic-prefix",
      "eu/,us/",
    ]);
    expect(await nextState(subscribe(edge, `eu/${selector}`), "those of eu")).to.equal("ENABLED");
    expect(await nextState(subscribe(edge, `us/${selector}`), "those of us")).to.equal("DISABLED");
    const { details } = await subscribe(edge).ended;
    expect(details).to.contain("eu/, us/");
  });

  it("speaks TLS to an upstream whose authority it is given", async () => {
    edit("ENABLED");
    const authority = await Authority.create("tiers");
    const { cert, key } = await authority.issue();
    for (const [name, text] of Object.entries({ cert, key, ca: authority.cert }))
      writeFileSync(directory.file(`${name}.pem`), text);
    const files = [
      "--tls-cert-path",
      directory.file("cert.pem"),
      "--tls-key-path",
      directory.file("key.pem"),
    ];
    const first = await root(["--tls", "on", ...files]);
    const leaf = await tier(first.sync, ["--upstream-ca-file", directory.file("ca.pem")]);
    expect(await nextState(subscribe(leaf), "the flags")).to.equal("ENABLED");
    expect(readFileSync(directory.file("ca.pem"), "utf8")).to.equal(authority.cert);
  });

  it("refuses a loop over two proxies and says so", async () => {
    const service = await openSwitch();
    const one = await tier(`127.0.0.1:${service.port}`);
    const other = await tier(one.sync);
    service.setBackends([portOf(other)]);
    const loops = async (proxy: ProxyProcess): Promise<number> =>
      readMetric(proxy.management, 'bunting_proxy_upstream_failures_total{reason="loop"}', 0);
    await eventually(async () => (await loops(one)) + (await loops(other)) > 0, "the loop is found");
  });
});

/** checkoutManifest with a hundred flags more, so that a delta is worth its while. */
function largeManifest(state: string): string {
  const manifest = JSON.parse(checkoutManifest(state)) as {
    spec: { flagSpec: { flags: Record<string, unknown> } };
  };
  const { flags } = manifest.spec.flagSpec;
  for (let i = 0; i < 100; i++) flags[`other-${i}`] = { state: "ENABLED", variants: { a: i } };
  return JSON.stringify(manifest);
}

function portOf({ sync }: ProxyProcess): number {
  return Number(sync.split(":")[1]);
}

function activeStreams({ management }: ProxyProcess): Promise<number> {
  return readMetric(management, "sync_active_streams");
}

/** The proxy that is used first. */
async function order(proxies: readonly ProxyProcess[]): Promise<[used: ProxyProcess, other: ProxyProcess]> {
  const [one, two] = proxies;
  if (one === undefined || two === undefined) throw new Error("two proxies are expected");
  return (await activeStreams(one)) === 1 ? [one, two] : [two, one];
}
