import { expect } from "chai";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { runBunting, type CliRun } from "../support/cli-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";
import type { ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { OperatorHome } from "./support/operator-home.js";
import { createProxyPod, mountStatusTokens } from "./support/told-proxy.js";
import { sharedCluster } from "./support/use-cluster.js";

interface RolledOut extends ApiObject {
  readonly status?: {
    readonly agents?: { readonly total: number; readonly current: number };
    readonly rollout?: { readonly phase: string; readonly wave: number; readonly digest: string };
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

const agentCount = 4;
const seconds = 1_000;

/** A flag whose value is the version; one that no agent can serve, if it is bad. */
function flagsOf(version: number, isBad = false): object {
  const flag = { state: "ENABLED", variants: { v: version }, defaultVariant: isBad ? "gone" : "v" };
  return { flags: { version: flag } };
}

/** The operator, the proxy and agents are real processes; the test is the kubelet, which has the proxy's Pod run and its Secret mounted. */
describe("a FeatureFlag with spec.rollout, on a real API server", function () {
  this.timeout(180 * seconds);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let proxy: ProxyProcess;
  let startOneProxy: () => Promise<ProxyProcess>;
  let mounted: TempDirectory;
  let agents: readonly AgentProcess[];

  const path = (): string => featureFlagPath(home.shop, "flags");
  const flag = async (): Promise<RolledOut> => await cluster().api.get(path());
  const put = (version: number, isBad = false): Promise<unknown> =>
    home.put("FeatureFlag", "flags", {
      flagSpec: flagsOf(version, isBad),
      rollout: { waves: [1], observe: "2s" },
    });
  /** Orders of docs/operate/progressive-push.md. */
  const bunting = (task: string): Promise<CliRun> =>
    runBunting(["rollout", task, `${home.shop}/flags`, "--kubeconfig", cluster().kubeconfig]);
  const isIn = (phase: string): Promise<void> =>
    eventually(
      async () => (await flag()).status?.rollout?.phase === phase,
      `the phase ${phase}`,
      90 * seconds,
    );
  /** What each agent answers. */
  const values = async (): Promise<unknown[]> =>
    Promise.all(
      agents.map(async ({ ofrep }) => {
        const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/version`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
        return ((await response.json()) as { readonly value?: unknown }).value;
      }),
    );
  const have = (version: number): Promise<void> =>
    eventually(
      async () => (await values()).every((value) => value === version),
      `all have ${version}`,
      60 * seconds,
    );

  before(async () => {
    mounted = new TempDirectory();
    const [management, sync] = [await freePort(), await freePort()];
    home = await OperatorHome.create(cluster(), [`--proxy-management-port=${management}`, "--proxy=always"]);
    const { namespace } = home.account;
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    const args = [`--management-port=${management}`, `--port=${sync}`];
    startOneProxy = () =>
      startProxyInPod(account, [...args, `--status-token-file=${mounted.file("tokens")}`]);
    proxy = await startOneProxy();
    await home.start("operator-1").leads(60 * seconds);
    await createProxyPod(cluster(), namespace);
    await put(1);
    agents = await Promise.all(
      Array.from({ length: agentCount }, (_, index) =>
        startAgent(proxySources(proxy.sync, `${home.shop}/flags`), {
          env: { BUNTING_INSTANCE: `checkout-${index}` },
        }),
      ),
    );
    await mountStatusTokens(cluster(), namespace, mounted);
    await have(1);
    await isIn("Whole");
  });
  after(async () => {
    await Promise.all([...agents, proxy].map(({ process }) => process.stop("SIGKILL")));
    await home.stop();
    mounted.remove();
  });

  it("has one agent try an edit, then all have it, and who speaks flagd.sync.v1 with them", async () => {
    const stock = new StockSyncClient(proxy.sync);
    const { messages } = stock.subscribe({ selector: `${home.shop}/flags` });
    const next = async (): Promise<unknown> => {
      const { flags } = await messages.nextEvent("flags");
      return (flags["version"] as { readonly variants: { readonly v: number } }).variants.v;
    };
    expect(await next()).to.equal(1);
    await put(2);
    await eventually(async () => (await values()).includes(2), "the first agent has the edit", 60 * seconds);
    expect((await values()).toSorted(), "one of four").to.deep.equal([1, 1, 1, 2]);
    expect((await flag()).status?.rollout).to.include({ phase: "Progressing", wave: 1 });
    await have(2);
    expect(await next(), "nothing between").to.equal(2);
    stock.close();
    await isIn("Whole");
  });

  it("halts with one agent that refuses it, says so, keeps it from a proxy that starts, and is given up", async () => {
    await put(3, true);
    await isIn("Halted");
    expect(await values()).to.deep.equal([2, 2, 2, 2]);
    const status = await bunting("status");
    expect(status.code).to.equal(1);
    expect(status.out).to.contain("Halted, wave 1 of 2, 1 % of the agents").and.contain("version: ");
    // It has never seen the version before, and reads both from the API server.
    await proxy.process.stop("SIGKILL");
    proxy = await startOneProxy();
    const stock = new StockSyncClient(proxy.sync);
    const { flags } = await stock.subscribe({ selector: `${home.shop}/flags` }).messages.nextEvent("flags");
    expect(flags["version"]).to.have.deep.property("variants", { v: 2 });
    stock.close();
    expect((await bunting("abort")).code).to.equal(0);
    await isIn("Aborted");
    expect(await values()).to.deep.equal([2, 2, 2, 2]);
    await put(4);
    await have(4);
  });

  it("halts when evaluations of the first agent fail that did not before", async () => {
    await isIn("Whole");
    const rollout = { waves: [1], observe: "20s" };
    const other = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    await home.put("FeatureFlag", "flags", { flagSpec: { flags: { other } }, rollout });
    await eventually(
      async () => {
        await values();
        return (await flag()).status?.rollout?.phase === "Halted";
      },
      "the phase Halted",
      60 * seconds,
    );
    expect((await values()).toSorted(), "one of four").to.deep.equal([4, 4, 4, undefined]);
    expect((await bunting("status")).out).to.contain("version: its evaluations fail since this version: ");
    await put(4);
    await have(4);
  });

  it("pauses, and is resumed", async () => {
    await isIn("Whole");
    await bunting("pause");
    await put(5);
    await isIn("Paused");
    expect(await values()).to.deep.equal([4, 4, 4, 4]);
    expect((await bunting("resume")).code).to.equal(0);
    await have(5);
  });

  it("refuses what is no rollout", async () => {
    const refusal = async (rollout: object): Promise<string> =>
      home.put("FeatureFlag", "flags", { flagSpec: flagsOf(5), rollout }).then(
        () => "accepted",
        (error: unknown) => String(error),
      );
    expect(await refusal({ waves: [10, 10] })).to.contain("each wave has another percentage");
    expect(await refusal({ waves: [0] })).to.contain("waves");
    expect(await refusal({ observe: "soon" })).to.contain("it is a duration");
  });
});
