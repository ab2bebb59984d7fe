import { expect } from "chai";
import type { AgentRolloutStatus } from "@bunting/operator/internal/api/agent-rollout.js";
import { parseRecord } from "@bunting/operator/internal/upgrade/agent-record.js";
import { AckingAgent } from "../support/acking-agent.js";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import type { ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { OperatorHome } from "./support/operator-home.js";
import { PlayedKubelet, type SidecarPod } from "./support/played-kubelet.js";
import { createProxyPod, mountStatusTokens } from "./support/told-proxy.js";
import { sharedCluster } from "./support/use-cluster.js";

interface Counted extends ApiObject {
  readonly status?: {
    readonly agents?: { readonly total: number; readonly current: number; readonly refusing: number };
    readonly conditions?: readonly {
      readonly type: string;
      readonly reason: string;
      readonly observedGeneration: number;
    }[];
  };
}

const good = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };

/** The operator, a proxy and agents are real processes; the test is the kubelet, which has the proxy's Pod run and its Secret mounted. */
describe("the agents in the status of a FeatureFlag", function () {
  this.timeout(180_000);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let proxy: ProxyProcess;
  let mounted: TempDirectory;
  const agents: AgentProcess[] = [];

  const flag = async (): Promise<Counted> => await cluster().api.get(featureFlagPath(home.shop, "flags"));
  const wait = (condition: string): Promise<string> =>
    cluster().kubectl([
      ...["wait", "featureflag/flags", `--namespace=${home.shop}`, `--for=condition=${condition}`],
      "--timeout=60s",
    ]);
  const edit = async (flags: object): Promise<void> => {
    await cluster().putFeatureFlag(home.shop, "flags", { flags });
  };
  /** Each condition is written by what finds it out, so one may speak of an edit before another. */
  const isOfEdit = ({ metadata, status }: Counted): boolean =>
    status?.conditions?.every(({ observedGeneration }) => observedGeneration === metadata.generation) ===
    true;
  const reasonOf = ({ status }: Counted, wanted: string): string | undefined =>
    status?.conditions?.find(({ type }) => type === wanted)?.reason;

  before(async () => {
    mounted = new TempDirectory();
    const management = await freePort();
    home = await OperatorHome.create(cluster(), [
      ...[`--proxy-management-port=${management}`, "--proxy=always", "--agent-rollouts"],
    ]);
    const { namespace } = home.account;
    await edit({ first: good });
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    proxy = await startProxyInPod(account, [
      `--management-port=${management}`,
      `--status-token-file=${mounted.file("tokens")}`,
    ]);
    await home.start("operator-1").leads(60_000);
    await createProxyPod(cluster(), namespace);
    for (let each = 0; each < 2; each++)
      agents.push(await startAgent(proxySources(proxy.sync, `${home.shop}/flags`)));
    await mountStatusTokens(cluster(), namespace, mounted);
  });
  after(async () => {
    await Promise.all([...agents, proxy].map(({ process }) => process.stop("SIGKILL")));
    await home.stop();
    mounted.remove();
  });

  it("are counted, and kubectl waits until all have an edit", async () => {
    await eventually(async () => (await flag()).status?.agents?.total === 2, "both are there", 120_000);
    await wait("Converged");
    expect((await flag()).status?.agents).to.deep.equal({ total: 2, current: 2, refusing: 0 });
    await edit({ first: good, second: good });
    await wait("Converged");
    const { metadata, status } = await flag();
    expect(status?.agents?.current).to.equal(2);
    const converged = status?.conditions?.find(({ type }) => type === "Converged");
    expect(converged?.observedGeneration).to.equal(metadata.generation);
    await eventually(async () => isOfEdit(await flag()), "all conditions are about the edit");
    const columns = await cluster().kubectl(["get", "featureflag/flags", `--namespace=${home.shop}`]);
    expect(columns.split("\n")[1]).to.match(/^flags\s+2\s+2\s+2\s+True\s/);
  });

  it("are behind while one is stopped, and then current again", async () => {
    agents[0]?.process.child.kill("SIGSTOP");
    try {
      await edit({ first: good });
      const isBehind = async (): Promise<boolean> => {
        const now = await flag();
        return isOfEdit(now) && reasonOf(now, "Converged") === "AgentsBehind";
      };
      await eventually(isBehind, "one is behind", 120_000);
      expect((await flag()).status?.agents).to.deep.equal({ total: 2, current: 1, refusing: 0 });
    } finally {
      agents[0]?.process.child.kill("SIGCONT");
    }
    await wait("Converged");
  });

  it("are behind though somebody whom nobody knows acknowledges all that comes, and is counted as one more", async () => {
    agents[0]?.process.child.kill("SIGSTOP");
    const forger = await AckingAgent.start(portOf(proxy), [`${home.shop}/flags`], {
      program: "bunting-agent/1.0.0",
    });
    try {
      await edit({ first: good, third: good });
      const isCounted = async (): Promise<boolean> => {
        const now = await flag();
        return isOfEdit(now) && now.status?.agents?.total === 3 && now.status.agents.current === 2;
      };
      await eventually(isCounted, "two of three have the edit", 120_000);
      expect(reasonOf(await flag(), "Converged")).to.equal("AgentsBehind");
    } finally {
      forger.close();
      agents[0]?.process.child.kill("SIGCONT");
    }
    await wait("Converged");
  });

  describe("of a Pod whose sidecar gets another image", () => {
    const rollout = "/apis/bunting.dev/v1alpha1/agentrollouts/proof";
    let pod: string;
    const image = (tag: number): string => `registry.example/agent:${tag}`;

    before(async () => {
      await edit({ first: good });
      pod = `/api/v1/namespaces/${home.shop}/pods/asked`;
      await cluster().api.create(`/api/v1/namespaces/${home.shop}/pods`, {
        metadata: { name: "asked", labels: { "bunting.dev/agent": "1" }, annotations: { a: "b" } },
        spec: {
          ...{ automountServiceAccountToken: false, nodeName: "node" },
          initContainers: [{ name: "flagd", image: image(1), restartPolicy: "Always" }],
          containers: [{ name: "app", image: "registry.example/app" }],
        },
      });
      // The agents of this test are those of this Pod.
      await cluster().api.patch(`${pod}/status`, {
        status: { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] },
      });
      await play(async () => {
        const { initContainerStatuses = [] } = (await read()).status;
        return initContainerStatuses[0]?.ready === true;
      }, "it is ready");
    });
    after(() => cluster().api.request("DELETE", rollout));

    const read = async (): Promise<SidecarPod> => (await cluster().api.get(pod)) as unknown as SidecarPod;
    const record = async (): Promise<ReturnType<typeof parseRecord>> =>
      parseRecord((await read()).metadata.annotations?.["bunting.dev/agent-rollout"]);

    /** Until this is so, a kubelet does what it has to. */
    async function play(isSo: () => Promise<boolean>, what: string): Promise<void> {
      const kubelet = new PlayedKubelet(cluster(), home.shop);
      await eventually(isSo, what, 60_000).finally(() => kubelet.stop());
    }

    async function begin(tag: number): Promise<void> {
      await cluster().api.apply(rollout, {
        ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name: "proof" } },
        spec: {
          ...{ image: image(tag), from: ["registry.example/agent:*"] },
          ...{ minAge: "0s", observe: "200ms", deadline: "8s" },
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": home.shop } },
        },
      });
      await eventually(async () => (await record())?.image === image(tag), "it is begun with", 60_000);
      expect(await record()).to.deep.include({ state: "updating", isServed: true });
    }
    const status = async (): Promise<AgentRolloutStatus> =>
      ((await cluster().api.get(rollout)) as { readonly status?: AgentRolloutStatus }).status ?? {};

    it("are the proof that it works: it is not enough that it is ready", async () => {
      await wait("Converged");
      await begin(2);
      agents[0]?.process.child.kill("SIGSTOP");
      try {
        await edit({ first: good, third: good });
        await play(async () => (await record())?.state === "failed", "it has its image of before back");
      } finally {
        agents[0]?.process.child.kill("SIGCONT");
      }
      const [failure] = (await status()).failures ?? [];
      expect(failure?.message).to.contain("did not in time have what the proxy serves");
      expect((await read()).spec.initContainers[0].image).to.equal(image(1));
    });

    it("prove it as soon as they have what is served", async () => {
      await wait("Converged");
      await begin(3);
      await play(async () => (await status()).phase === "Completed", "it is completed");
      expect(await record()).to.deep.include({ state: "updated", isServed: true });
      expect((await status()).failed).to.equal(0);
    });
  });

  it("that refuse a flag are counted, and named in the condition", async () => {
    await edit({ first: { ...good, defaultVariant: "gone" } });
    await eventually(
      async () => reasonOf(await flag(), "Converged") === "AgentsRefuse",
      "both refuse",
      60_000,
    );
    const { status } = await flag();
    expect(status?.agents).to.deep.equal({ total: 2, current: 2, refusing: 2 });
    expect(reasonOf(await flag(), "Served")).to.equal("Served");
  });

  it("are not told to whoever has no token", async () => {
    const ask = async (authorization: string): Promise<number> =>
      (
        await fetch(`${proxy.management}/status?agents`, {
          headers: { authorization, "x-forwarded-for": "10.0.0.1" },
        })
      ).status;
    expect(await ask("Bearer guess")).to.equal(403);
    expect(await ask("")).to.equal(403);
  });
});
