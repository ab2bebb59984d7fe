import { proxySources, startAgent, type AgentProcess } from "../../support/agent-process.js";
import { eventually } from "../../support/event-queue.js";
import { freePort } from "../../support/free-port.js";
import { startProxyInPod, type ProxyProcess } from "../../support/proxy-process.js";
import { TempDirectory } from "../../support/temp-directory.js";
import type { ApiObject } from "./api-client.js";
import { featureFlagPath, type Cluster } from "./cluster.js";
import { OperatorHome } from "./operator-home.js";
import type { OperatorProcess } from "./operator-process.js";
import { createProxyPod, mountStatusTokens } from "./told-proxy.js";

/** A FeatureFlag with spec.rollout, as an API server has it. */
export interface RolledOut extends ApiObject {
  readonly status?: {
    readonly agents?: { readonly total: number; readonly current: number };
    readonly rollout?: { readonly phase: string; readonly wave: number; readonly digest: string };
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

const seconds = 1_000;

/** A flag whose value is the version; one that no agent can serve, if it is bad. */
export function flagsOf(version: number, isBad = false): object {
  const flag = { state: "ENABLED", variants: { v: version }, defaultVariant: isBad ? "gone" : "v" };
  return { flags: { version: flag } };
}

/**
 * An operator, a proxy and agents of the FeatureFlag `flags`, which has the version 1. All are real processes; the test is the kubelet, which has the
 * proxy's Pod run and its Secret mounted. Every test must await `stop`.
 */
export class RolloutWorld {
  readonly home: OperatorHome;
  proxy: ProxyProcess;
  operator: OperatorProcess;
  agents: readonly AgentProcess[] = [];
  readonly #cluster: Cluster;
  readonly #startProxy: () => Promise<ProxyProcess>;
  readonly #mounted: TempDirectory;

  private constructor(
    cluster: Cluster,
    home: OperatorHome,
    parts: {
      readonly proxy: ProxyProcess;
      readonly startProxy: () => Promise<ProxyProcess>;
      readonly mounted: TempDirectory;
    },
  ) {
    this.#cluster = cluster;
    this.home = home;
    this.proxy = parts.proxy;
    this.#startProxy = parts.startProxy;
    this.#mounted = parts.mounted;
    this.operator = home.start("operator-1");
  }

  static async start(cluster: Cluster, agentCount: number): Promise<RolloutWorld> {
    const mounted = new TempDirectory();
    const [management, sync] = [await freePort(), await freePort()];
    const home = await OperatorHome.create(cluster, [
      `--proxy-management-port=${management}`,
      "--proxy=always",
    ]);
    const { namespace } = home.account;
    const account = await cluster.createServiceAccountToken(namespace, "proxy");
    await cluster.grantStockRole(account);
    const ports = [`--management-port=${management}`, `--port=${sync}`];
    const startProxy = (): Promise<ProxyProcess> =>
      startProxyInPod(account, [...ports, `--status-token-file=${mounted.file("tokens")}`]);
    const proxy = await startProxy();
    const world = new RolloutWorld(cluster, home, { proxy, startProxy, mounted });
    await world.operator.leads(60 * seconds);
    await createProxyPod(cluster, namespace);
    await world.put(1);
    const names = Array.from({ length: agentCount }, (_, index) => `checkout-${index}`);
    const sources = proxySources(proxy.sync, `${home.shop}/flags`);
    world.agents = await Promise.all(
      names.map((name) => startAgent(sources, { env: { BUNTING_INSTANCE: name } })),
    );
    await mountStatusTokens(cluster, namespace, mounted);
    await world.have(1);
    await world.isIn("Whole");
    return world;
  }

  get path(): string {
    return featureFlagPath(this.home.shop, "flags");
  }

  async flag(): Promise<RolledOut> {
    return await this.#cluster.api.get(this.path);
  }

  put(version: number, isBad = false, rollout: object = { waves: [1], observe: "2s" }): Promise<ApiObject> {
    return this.home.put("FeatureFlag", "flags", { flagSpec: flagsOf(version, isBad), rollout });
  }

  isIn(phase: string): Promise<void> {
    return eventually(
      async () => (await this.flag()).status?.rollout?.phase === phase,
      `the phase ${phase}`,
      90 * seconds,
    );
  }

  /** What each agent answers; undefined where it answers by an error. */
  values(): Promise<unknown[]> {
    return Promise.all(
      this.agents.map(async ({ ofrep }) => {
        const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/version`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
        return ((await response.json()) as { readonly value?: unknown }).value;
      }),
    );
  }

  have(version: number): Promise<void> {
    return eventually(
      async () => (await this.values()).every((value) => value === version),
      `all have ${version}`,
      60 * seconds,
    );
  }

  /** As after a crash. */
  async replaceProxy(): Promise<void> {
    await this.proxy.process.stop("SIGKILL");
    this.proxy = await this.#startProxy();
  }

  async replaceOperator(name: string, settings: readonly string[] = []): Promise<void> {
    await this.operator.stop("SIGKILL");
    this.operator = this.home.start(name, this.home.account, undefined, settings);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.agents, this.proxy].map(({ process }) => process.stop("SIGKILL")));
    await this.home.stop();
    this.#mounted.remove();
  }
}
