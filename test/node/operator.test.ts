import path from "node:path";
import { expect } from "chai";
import { root } from "../helm/support/chart.js";
import { eventually } from "../support/event-queue.js";
import { skipWithout } from "../helm/support/tool.js";
import { registryName } from "./support/addresses.js";
import { AskingDeployment } from "./support/asking-deployment.js";
import { installOperator, operatorNamespace, operatorPods, uninstallOperator } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { bareTemplate, Workload } from "./support/workload.js";

const sources = (namespace: string): string =>
  `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources`;

interface InjectedPod {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly initContainers?: readonly { readonly name: string }[] };
}

describe("the operator on a real node", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  let namespace: string;
  let version = 1;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    await installOperator(node(), "--set=options.inline-flags=true");
    await createSource("checkout");
    await createSource("payment");
  });
  after(async () => {
    await uninstallOperator(node());
  });

  async function createSource(name: string): Promise<void> {
    await node().cluster.api.create(sources(namespace), {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name, namespace },
      spec: { sources: [{ source: `${namespace}/flags`, provider: "flagd-proxy" }] },
    });
    const condition = `featureflagsource/${name}`;
    await node().kubectl([
      ...["-n", namespace, "wait", condition, "--for=condition=Compiled", "--timeout=60s"],
    ]);
  }

  async function edit(): Promise<number> {
    await editVersion(node().cluster, namespace, "flags", ++version);
    return version;
  }

  async function wayOf(workload: Workload): Promise<string | undefined> {
    const { metadata } = (await node().cluster.api.get(workload.path)) as unknown as InjectedPod;
    return metadata.annotations?.["bunting.dev/injected"]?.split(" ")[0];
  }

  it("brings flags from a FeatureFlagSource to an application, and edits after them: by the API server's policy", async () => {
    const workload = await Workload.createBare(node(), { namespace, name: "by-policy", source: "checkout" });
    expect(await wayOf(workload)).to.equal("policy");
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, version);
    await workload.untilAnswers(versionFlag, await edit());
    const proxy = [
      "-n",
      operatorNamespace,
      "get",
      "deployment",
      "flagd-proxy",
      "--output=jsonpath={.status.readyReplicas}",
    ];
    expect(Number(await node().kubectl(proxy))).to.be.at.least(1);
  });

  it("does the same by its webhook, for a text that is not compiled", async () => {
    const source = "payment , checkout";
    const workload = await Workload.createBare(node(), { namespace, name: "by-webhook", source });
    expect(await wayOf(workload)).to.equal("webhook");
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, await edit());
  });

  it("brings the flags that a Deployment has of its own, and edits of them without replacing a Pod, until it goes", async () => {
    const annotate = (value: number): Promise<unknown> =>
      node().cluster.api.patch(`/apis/apps/v1/namespaces/${namespace}/deployments/inline`, {
        metadata: { annotations: inlineFlags(value) },
      });
    const inlineFlags = (value: number): object => ({
      "openfeature.dev/inline-flags": JSON.stringify(versionSpec(value)),
    });
    const { spec } = bareTemplate("") as { readonly spec: { readonly containers: readonly object[] } };
    const containers = spec.containers.map((each) => ({
      ...each,
      env: [{ name: "FOLLOWED_FLAG", value: versionFlag }],
    }));
    const labels = { app: "inline" };
    const deployment = await AskingDeployment.of(node(), namespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "inline", namespace, annotations: inlineFlags(101) },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    await deployment.untilAll(101);
    const names = async (): Promise<unknown> =>
      (await deployment.pods()).map(({ metadata }) => metadata.name);
    const before = await names();
    await annotate(102);
    await deployment.untilAll(102);
    expect(await names()).to.deep.equal(before);
    await deployment.stop();
    await node().kubectl(["-n", namespace, "delete", "deployment", "inline"]);
    await node().kubectl([
      ...["-n", namespace, "wait", "featureflag/inline-deployment-inline", "--for=delete", "--timeout=60s"],
    ]);
  });

  it("gives the application of docs/start/cluster.md its flags in one go, though kubectl creates its Deployment before the source", async () => {
    const rendered = await node().kubectl(["kustomize", path.join(root, "examples/application")]);
    const here = rendered.replaceAll(/image: .*/g, `image: ${registryName}/application:1`);
    expect(here.indexOf("kind: Deployment")).to.be.lessThan(here.indexOf("kind: FeatureFlagSource"));
    const shop = (...args: readonly string[]): Promise<string> => node().kubectl(["-n", "shop", ...args]);
    try {
      await node().kubectl(["apply", "-f", "-"], here);
      await shop("rollout", "status", "deployment/shop", "--timeout=120s");
      const tells = async (): Promise<boolean> =>
        (await shop("logs", "deployment/shop", "--container=application")).includes("new-welcome = false");
      await eventually(tells, "the application tells its flag", 60_000);
      const { items } = await node().cluster.api.list("/api/v1/namespaces/shop/pods");
      expect(items, "no Pod was made before").to.have.length(1);
    } finally {
      await node().kubectl(["delete", "namespace", "shop", "--wait=false", "--ignore-not-found"]);
    }
  });

  it("lets a Job complete", async () => {
    const { metadata, spec } = bareTemplate("checkout") as {
      readonly metadata: object;
      readonly spec: { readonly containers: readonly object[] };
    };
    // It ends once the sidecar answers it.
    const script = `fetch("http://localhost:8016/ofrep/v1/evaluate/flags/${versionFlag}", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }).then(({ ok }) => process.exit(ok ? 0 : 1))`;
    const containers = spec.containers.map((each) => ({ ...each, command: ["/bin/node", "-e", script] }));
    await node().apply({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "job", namespace },
      spec: { backoffLimit: 0, template: { metadata, spec: { containers, restartPolicy: "Never" } } },
    });
    await node().kubectl([
      ...["-n", namespace, "wait", "job/job", "--for=condition=Complete", "--timeout=90s"],
    ]);
  });

  it("is not needed while Pods start: of 200 that are created while it is killed, each has a sidecar", async () => {
    const before = await operatorPods(node());
    expect(before).to.have.length(2);
    const kill = [
      "-n",
      operatorNamespace,
      "delete",
      "pods",
      ...before,
      "--grace-period=0",
      "--force",
      "--wait=false",
    ];
    // They wait for a node that there is not: what is shown is how they are admitted.
    const template = bareTemplate("checkout");
    const pods = Array.from({ length: 200 }, (_, index) => ({
      metadata: { name: `burst-${index}`, ...template.metadata },
      spec: { ...template.spec, nodeSelector: { "bunting.test/node": "none" } },
    }));
    const create = (pod: unknown): Promise<unknown> =>
      node().cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, pod);
    for (const pod of pods.slice(0, 50)) await create(pod);
    await Promise.all([node().kubectl(kill), ...pods.slice(50).map(create)]);
    const { items } = await node().cluster.api.list(`/api/v1/namespaces/${namespace}/pods`);
    const burst = (items as unknown as readonly InjectedPod[]).filter(({ metadata }) =>
      metadata.name.startsWith("burst-"),
    );
    expect(burst).to.have.length(200);
    const bare = burst.filter(
      ({ spec }) => spec.initContainers?.some(({ name }) => name === "flagd") !== true,
    );
    expect(bare.map(({ metadata }) => metadata.name)).to.deep.equal([]);
  });

  it("leaves the proxy, and what runs, alone when it comes back", async () => {
    const isBack = async (): Promise<boolean> => {
      const ready = [
        "-n",
        operatorNamespace,
        "get",
        "deployment",
        "bunting-operator",
        "--output=jsonpath={.status.readyReplicas}",
      ];
      return (await node().kubectl(ready)) === "2";
    };
    await eventually(isBack, "both replicas of the operator are ready again", 120_000);
    const workload = await Workload.createBare(node(), { namespace, name: "afterwards", source: "checkout" });
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, await edit());
  });

  it("brings flags to Pods that start first when the whole cluster starts again: the sidecar by policy, and flags when the proxy is there", async () => {
    const inHome = (...args: readonly string[]): Promise<string> =>
      node().kubectl(["-n", operatorNamespace, ...args]);
    await inHome("scale", "deployment/bunting-operator", "--replicas=0");
    const isGone = async (): Promise<boolean> => (await operatorPods(node())).length === 0;
    await eventually(isGone, "no operator runs", 60_000);
    await inHome("delete", "deployment/flagd-proxy", "--cascade=foreground", "--wait", "--timeout=60s");
    await node().cluster.restartApiServer();
    await node().cluster.untilServed();
    // An API server that has just started reads its policies and Injections a moment later.
    const body = {
      metadata: { name: "probe", ...bareTemplate("checkout").metadata },
      spec: bareTemplate("checkout").spec,
    };
    const pods = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
    const isPolicyThere = async (): Promise<boolean> =>
      (await node().cluster.api.request("POST", pods, { body })).text.includes("bunting.dev/injected");
    await eventually(isPolicyThere, "the API server goes by the policy", 60_000);

    const workload = await Workload.createBare(node(), { namespace, name: "early", source: "checkout" });
    expect(await wayOf(workload)).to.equal("policy");
    await workload.untilRunning();
    const { errorCode } = await workload.ask("ofrep", versionFlag);
    expect(errorCode).to.not.equal(undefined);
    await inHome("scale", "deployment/bunting-operator", "--replicas=2");
    await workload.untilAnswers(versionFlag, version);
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, await edit());
  });
});
