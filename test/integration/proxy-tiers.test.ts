import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { TopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { AgentConnection, type AgentClientStream } from "../support/agent-client.js";
import { Authority } from "../support/certificates.js";
import { runBunting } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { HeldFlags } from "../support/held-flags.js";
import { checkoutManifest } from "../support/manifests.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { SyncSubscription } from "../support/stock-sync-client.js";
import type { TcpSwitch } from "../support/tcp-switch.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Tiers, untilStale, upstreamFailures } from "../support/tiers.js";

const selector = "team-a/checkout";
const messages = (kind: string): string => `bunting_proxy_upstream_messages_total{kind="${kind}"}`;

describe("bunting-proxy with --source upstream", () => {
  let tiers: Tiers;
  let directory: TempDirectory;
  beforeEach(() => {
    tiers = new Tiers();
    ({ directory } = tiers);
  });
  afterEach(() => tiers.close());

  const root = (args: readonly string[] = [], at = directory): Promise<ProxyProcess> =>
    tiers.root(args, at.path);
  const tier = (upstream: string, args?: readonly string[]): Promise<ProxyProcess> =>
    tiers.tier(upstream, args);
  const subscribe = (proxy: ProxyProcess, topic = selector): SyncSubscription =>
    tiers.subscribe(proxy, topic);
  const nextState = async (subscription: SyncSubscription, what: string): Promise<unknown> => {
    const { flags } = await subscription.messages.nextEvent(what);
    return (flags["f"] as { readonly state?: string } | undefined)?.state;
  };
  const edit = (state: string, at = directory): void => at.replace("checkout.json", checkoutManifest(state));

  it("serves through three levels what the first reads, each edit as a delta, and resumes when the middle was killed", async () => {
    const edit = (state: string): void => directory.replace("checkout.json", largeManifest(state));
    edit("ENABLED");
    const first = await root();
    const middle = await tier(first.sync);
    const service = await tiers.openSwitch(middle);
    const leaf = await tier(`127.0.0.1:${service.port}`);
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    edit("DISABLED");
    expect(await nextState(subscription, "the edit")).to.equal("DISABLED");

    await middle.process.stop("SIGKILL");
    await untilStale(leaf, 1);
    expect(await readMetric(leaf.management, messages("snapshot"))).to.equal(1);
    expect(await readMetric(leaf.management, messages("delta"))).to.equal(1);
    service.setBackends([portOf(await tier(first.sync))]);
    await untilStale(leaf, 0);
    expect(await readMetric(leaf.management, messages("unchanged"))).to.equal(1);
    expect(await readMetric(leaf.management, messages("snapshot"))).to.equal(1);
    edit("ENABLED");
    expect(await nextState(subscription, "the next edit")).to.equal("ENABLED");
  });

  describe("of which the middle was killed, and started again after an edit", () => {
    let first: ProxyProcess;
    let service: TcpSwitch;
    /** Of what the root reads. */
    const edit = (state: string): void => directory.replace("checkout.json", largeManifest(state));

    /** Kills the middle, and makes an edit that the root has read. */
    async function killAndEdit(middle: ProxyProcess): Promise<void> {
      const witness = subscribe(first);
      expect(await nextState(witness, "the flags")).to.equal("ENABLED");
      service.setBackends([]);
      await middle.process.stop("SIGKILL");
      edit("DISABLED");
      expect(await nextState(witness, "the edit")).to.equal("DISABLED");
    }

    async function begin(args: readonly string[] = []): Promise<ProxyProcess> {
      edit("ENABLED");
      first = await root();
      const middle = await tier(first.sync, args);
      service = await tiers.openSwitch(middle);
      return middle;
    }

    it("brings the edit to the level below as a delta, bytes counted", async () => {
      const middle = await begin();
      const leaf = await tier(`127.0.0.1:${service.port}`);
      const subscription = subscribe(leaf);
      expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
      const received = (kind: string): Promise<number> =>
        readMetric(leaf.management, `bunting_proxy_upstream_received_bytes_total{kind="${kind}"}`, 0);
      const document = await received("snapshot");
      expect(document).to.be.greaterThan(5_000);
      await killAndEdit(middle);
      const successor = await tier(first.sync);
      service.setBackends([portOf(successor)]);
      expect(await nextState(subscription, "the edit")).to.equal("DISABLED");
      await untilStale(leaf, 0);
      expect(await readMetric(leaf.management, messages("delta"))).to.equal(1);
      expect(await received("snapshot"), "no other document").to.equal(document);
      expect(await received("delta")).to.be.within(100, 400);
      expect(await received("history"), "the delta has but one step").to.equal(0);
      expect(await readMetric(successor.management, messages("history"))).to.equal(1);
      const history = 'bunting_proxy_upstream_received_bytes_total{kind="history"}';
      expect(await readMetric(successor.management, history)).to.be.within(80, 200);
    });

    for (const prefix of ["", "eu/"])
      it(`brings it to agents as a delta${prefix && " under a prefix"}`, async () => {
        const args = prefix === "" ? [] : ["--topic-prefix", prefix];
        const topic = `${prefix}${selector}` as TopicKey;
        const middle = await begin(args);
        const agentOf = async (proxy: ProxyProcess): Promise<AgentClientStream> => {
          const connection = await AgentConnection.open(portOf(proxy));
          tiers.onClose(() => connection.close());
          return connection.stream();
        };
        const agent = await agentOf(middle);
        agent.subscribe(topic);
        const held = await agent.next("snapshot");
        await killAndEdit(middle);
        const moved = await agentOf(await tier(first.sync, args));
        moved.subscribe(topic, held.version);
        const delta = await moved.next("delta");
        expect(delta.flags.map(({ key }) => key)).to.deep.equal(["f"]);
        expect(HeldFlags.ofSnapshot(held).apply(delta).digest).to.equal(
          delta.version?.digest.toString("hex"),
        );
        expect(moved.receivedBytes).to.be.lessThan(600);
      });
  });

  it("sends what has changed while the connection was cut, and nothing that has not", async () => {
    edit("ENABLED");
    const first = await root();
    const service = await tiers.openSwitch(first);
    const leaf = await tier(`127.0.0.1:${service.port}`);
    const subscription = subscribe(leaf);
    expect(await nextState(subscription, "the flags")).to.equal("ENABLED");
    service.setBackends([]);
    service.cut();
    await untilStale(leaf, 1);
    edit("DISABLED");
    service.setBackends([portOf(first)]);
    expect(await nextState(subscription, "the edit")).to.equal("DISABLED");
    await untilStale(leaf, 0);
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
    tiers.onClose(() => connection.close());
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
    tiers.onClose(() => flags.remove());
    edit("ENABLED", flags);
    const leaf = await tier((await tier((await root([], flags)).sync)).sync);
    expect(await nextState(subscribe(leaf), "the flags")).to.equal("ENABLED");
    renameSync(flags.path, directory.file("elsewhere"));
    await untilStale(leaf, 1);
    renameSync(directory.file("elsewhere"), flags.path);
    await untilStale(leaf, 0);
  });

  it("serves two clusters under prefixes, and says which there are", async () => {
    const us = new TempDirectory();
    tiers.onClose(() => us.remove());
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
    const { out } = await runBunting(["tail", `us/${selector}`, "--limit=1", "--address", edge.sync]);
    expect(out).to.contain(` us/${selector} 1 flag`);
    const same = await runBunting(["diff", us.file("checkout.json"), `proxy://${edge.sync}/us/${selector}`]);
    expect(same).to.include({ code: 0, err: "" });
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
    const service = await tiers.openSwitch();
    const one = await tier(`127.0.0.1:${service.port}`);
    const other = await tier(one.sync);
    service.setBackends([portOf(other)]);
    const loops = (proxy: ProxyProcess): Promise<number> => upstreamFailures(proxy, "loop");
    await eventually(async () => (await loops(one)) + (await loops(other)) > 0, "the loop is found");
  });

  it("has not read its source while it has no upstream but itself, and does not say that it follows one", async () => {
    const service = await tiers.openSwitch();
    const proxy = await tier(`127.0.0.1:${service.port}`);
    service.setBackends([portOf(proxy)]);
    await eventually(async () => (await upstreamFailures(proxy, "loop")) > 2, "the loop is found");
    // Whether it is ready without depends on how long it has waited.
    expect(await (await fetch(`${proxy.management}/readyz`)).text()).to.contain("for the first time");
    const said = proxy.process.logs.map(({ msg }) => msg);
    expect(said.filter((msg) => msg.startsWith("follows"))).to.deep.equal([]);
    expect(said.filter((msg) => msg.includes("take the loop out"))).to.have.length(1);
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

function activeStreams({ management }: ProxyProcess): Promise<number> {
  return readMetric(management, "sync_active_streams");
}

/** The proxy that is used first. */
async function order(proxies: readonly ProxyProcess[]): Promise<[used: ProxyProcess, other: ProxyProcess]> {
  const [one, two] = proxies;
  if (one === undefined || two === undefined) throw new Error("two proxies are expected");
  return (await activeStreams(one)) === 1 ? [one, two] : [two, one];
}
