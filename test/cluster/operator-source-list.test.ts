import { expect } from "chai";
import type { KubeObject } from "@bunting/kube";
import type { InjectionEntry, InjectionSpec } from "@bunting/operator/internal/api/injection.js";
import { storedDigests } from "@bunting/operator/internal/controllers/rollout/rolled-out.js";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { OperatorHome } from "./support/operator-home.js";
import { createProxyPod, mountStatusTokens } from "./support/told-proxy.js";
import { sharedCluster } from "./support/use-cluster.js";

const on = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" };
const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The operator, a proxy and agents are real processes, and agents get what a Pod would get. */
describe("the list of a FeatureFlagSource", function () {
  this.timeout(180_000);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let proxy: ProxyProcess;
  let forbidden: ProxyProcess;
  /** Of proxies that may read lists. */
  let reader: Awaited<ReturnType<ReturnType<typeof cluster>["createServiceAccountToken"]>>;
  let mounted: TempDirectory;
  const agents: AgentProcess[] = [];

  const source = (...names: readonly string[]): Promise<unknown> => sourceWith({}, ...names);
  const sourceWith = (more: object, ...names: readonly string[]): Promise<unknown> =>
    home.put("FeatureFlagSource", "app", {
      sources: names.map((name) => ({ source: name, provider: "flagd-proxy" })),
      ...more,
    });
  /** What Pods get once the operator has compiled exactly these. */
  const entry = async (...names: readonly string[]): Promise<InjectionEntry> => {
    let found: InjectionEntry | undefined;
    const wanted = names.map((name) => `${home.shop}/${name}`).join();
    const isCompiled = async (): Promise<boolean> => {
      const { spec } = ((await home.injection()) ?? {}) as { readonly spec?: InjectionSpec };
      found = spec?.sources["app"];
      return found?.flags?.join() === wanted;
    };
    await eventually(isCompiled, `${wanted} is compiled`, 60_000);
    if (found === undefined) throw new Error("there is no entry");
    return found;
  };

  /** The sidecar of a Pod that gets this entry, with that proxy. */
  async function sidecar({ container }: InjectionEntry, { sync }: ProxyProcess): Promise<AgentProcess> {
    const args = container?.args ?? [];
    const listed = JSON.parse(args[args.indexOf("--sources") + 1] ?? "[]") as readonly object[];
    const list = container?.env?.find(({ name }) => name === "BUNTING_SOURCE_LIST")?.value ?? "";
    const sources = JSON.stringify(listed.map((each) => ({ ...each, uri: sync })));
    const agent = await startAgent(["--sources", sources, "--start-wait", "5s"], {
      env: { BUNTING_SOURCE_LIST: list },
    });
    agents.push(agent);
    return agent;
  }

  async function answer({ ofrep }: AgentProcess, key: string): Promise<unknown> {
    const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/${key}`, { method: "POST", body: "{}" });
    return ((await response.json()) as { readonly value?: unknown }).value ?? response.status;
  }

  before(async () => {
    mounted = new TempDirectory();
    const management = await freePort();
    home = await OperatorHome.create(cluster(), [
      ...[`--proxy-management-port=${management}`, "--proxy=always", "--rollout-on-change"],
    ]);
    for (const name of ["first", "second"])
      await cluster().putFeatureFlag(home.shop, name, { flags: { [name]: on } });
    const { namespace } = home.account;
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    forbidden = await startProxyInPod(account);
    reader = await cluster().createServiceAccountToken(namespace, "reader");
    await cluster().grantStockRole(reader);
    const name = `${namespace}-lists`;
    await cluster().api.create(`${rbac}/clusterroles`, {
      metadata: { name },
      rules: [{ apiGroups: ["bunting.dev"], resources: ["injections"], verbs: ["get", "list", "watch"] }],
    });
    await cluster().api.create(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: reader.name, namespace }],
    });
    proxy = await startProxyInPod(reader, [
      `--management-port=${management}`,
      `--status-token-file=${mounted.file("tokens")}`,
    ]);
    await home.start("operator-1").leads(60_000);
    await createProxyPod(cluster(), namespace);
    await mountStatusTokens(cluster(), namespace, mounted);
    await source("first");
  });
  after(async () => {
    await Promise.all([...agents, proxy, forbidden].map(({ process }) => process.stop("SIGKILL")));
    await home.stop();
    mounted.remove();
  });

  it("is followed by running sidecars without a restart, and no answer is lost meanwhile", async () => {
    const agent = await sidecar(await entry("first"), proxy);
    expect([await answer(agent, "first"), await answer(agent, "second")]).to.deep.equal([true, 404]);
    const asking = { isOver: false };
    const answers = new Set<unknown>();
    const asked = (async () => {
      while (!asking.isOver) answers.add(await answer(agent, "first"));
    })();
    await source("first", "second");
    await eventually(async () => (await answer(agent, "second")) === true, "the second is answered", 60_000);
    await source("second", "first");
    await eventually(
      () => agent.process.logs.filter(({ msg }) => msg === "the list of sources has changed").length === 2,
      "the other order",
      60_000,
    );
    asking.isOver = true;
    await asked;
    expect([...answers]).to.deep.equal([true]);
    await source("first");
    await eventually(async () => (await answer(agent, "second")) === 404, "the second is gone", 60_000);
    expect(await answer(agent, "first")).to.equal(true);
  });

  it("is not followed where more has changed, and the agent says that its Pod is older", async () => {
    const agent = await sidecar(await entry("first"), proxy);
    await home.put("FeatureFlagSource", "app", {
      sources: [
        { source: "first", provider: "flagd-proxy" },
        { source: "second", provider: "flagd-proxy" },
      ],
      debugLogging: true,
    });
    const body = async (): Promise<string> => (await fetch(`${agent.management}/readyz`)).text();
    await eventually(async () => (await body()).includes("the Pod is older"), "/readyz", 60_000);
    expect(await answer(agent, "second")).to.equal(404);
    await source("first");
    await eventually(async () => !(await body()).includes("the Pod is older"), "/readyz", 60_000);
  });

  it("gives agents no right to what it names", async () => {
    const agent = await sidecar(await entry("first"), proxy);
    const refused = await cluster().createNamespace();
    await cluster().putFeatureFlag(refused, "secret", { flags: { secret: on } });
    await source("first", `${refused}/secret`, "second");
    await eventually(async () => (await answer(agent, "second")) === true, "the others are answered", 60_000);
    expect(await answer(agent, "secret")).to.equal(404);
    await source("first");
  });

  it("restarts only what does not follow it, where its source asks for restarts", async () => {
    await sourceWith({ rolloutOnChange: true }, "first");
    const compiled = await entry("first");
    // What is noted first may be the list of the test before: then the change to it would be none.
    const isNoted = async (): Promise<boolean> => {
      const { digests, rolledOut = {} } = storedDigests((await home.injection()) as unknown as KubeObject);
      return rolledOut["app"] !== undefined && rolledOut["app"] === digests["app"];
    };
    await eventually(isNoted, "it is noted", 60_000);
    const agent = await sidecar(compiled, proxy);
    const deployments = `/apis/apps/v1/namespaces/${home.shop}/deployments`;
    const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "app" };
    const spec = { containers: [{ name: "main", image: "registry.example/main" }] };
    // The agent of this test is at the address of the one, and nobody at that of the other.
    for (const [name, ip] of Object.entries({ follows: "127.0.0.1", older: "127.0.0.9" })) {
      const labels = { app: name };
      const template = { metadata: { labels, annotations }, spec };
      await cluster().api.create(deployments, {
        metadata: { name },
        spec: { selector: { matchLabels: labels }, template },
      });
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", uid: "4f5e", controller: true };
      const pods = `/api/v1/namespaces/${home.shop}/pods`;
      const metadata = {
        name: `${name}-1f-x`,
        annotations,
        labels: { ...labels, "pod-template-hash": "1f" },
      };
      const flagd = { name: "flagd", image: "registry.example/flagd", env: compiled.container?.env };
      await cluster().api.create(pods, {
        metadata: { ...metadata, ownerReferences: [{ ...owner, name: `${name}-1f` }] },
        spec: { containers: [...spec.containers, flagd], automountServiceAccountToken: false },
      });
      await cluster().api.patch(`${pods}/${name}-1f-x/status`, {
        status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
      });
    }
    await sourceWith({ rolloutOnChange: true }, "first", "second");
    await eventually(async () => (await answer(agent, "second")) === true, "the second is answered", 60_000);
    const restarts = async (name: string): Promise<boolean> => {
      const { spec: now } = await cluster().api.get(`${deployments}/${name}`);
      return JSON.stringify(now).includes("kubectl.kubernetes.io/restartedAt");
    };
    await eventually(() => restarts("older"), "what does not follow is restarted", 120_000);
    expect(await restarts("follows")).to.equal(false);
    await source("first");
  });

  it("is the newest in the end, with its flags, when the proxy is killed while it changes", async () => {
    const lists = [["second", "first"], ["first"]] as const;
    const port = `--port=${await freePort()}`;
    const compiled = await entry("first");
    let killed = await startProxyInPod(reader, [port]);
    try {
      const agent = await sidecar(compiled, killed);
      for (const names of lists) {
        await source(...names);
        await entry(...names);
        // About now the proxy hears of it, and tells the agent, which subscribes.
        await killed.process.stop("SIGKILL");
        killed = await startProxyInPod(reader, [port]);
        for (const name of ["first", "second"])
          await eventually(
            async () => (await answer(agent, name)) === (names.some((one) => one === name) ? true : 404),
            `${name} with the list ${names.join()}`,
            60_000,
          );
      }
      const body = await (await fetch(`${agent.management}/readyz`)).text();
      expect(body).to.contain("followed, 1 FeatureFlags\n");
    } finally {
      await killed.process.stop("SIGKILL");
    }
  });

  it("changes nothing for an agent whose proxy may not read it", async () => {
    const agent = await sidecar(await entry("first"), forbidden);
    const says = (): boolean =>
      forbidden.process.logs.some(({ msg }) => msg.includes("get, list and watch injections"));
    await eventually(says, "what is to be granted");
    await eventually(async () => (await answer(agent, "first")) === true, "the flags of before");
    await source("first", "second");
    await entry("first", "second");
    expect([await answer(agent, "first"), await answer(agent, "second")]).to.deep.equal([true, 404]);
    await cluster().putFeatureFlag(home.shop, "first", { flags: { first: on, more: on } });
    await eventually(async () => (await answer(agent, "more")) === true, "flags are followed as ever");
  });
});
