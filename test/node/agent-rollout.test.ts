import { expect } from "chai";
import type { AgentRolloutStatus } from "@bunting/operator/internal/api/agent-rollout.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { skipWithout } from "../helm/support/tool.js";
import { registryName } from "./support/addresses.js";
import { AskingDeployment } from "./support/asking-deployment.js";
import { installOperator, uninstallOperator, untilSourcesAreAwaited } from "./support/operator.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionSpec } from "./support/version-flag.js";
import type { PodStatus } from "./support/workload.js";

const path = "/apis/bunting.dev/v1alpha1/agentrollouts/agents";
const image = (tag: string): string => `${registryName}/agent:${tag}`;

interface InjectedPod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly initContainers: readonly [{ readonly image: string }] };
  readonly status: PodStatus;
}

describe("an AgentRollout on a real node", function () {
  this.timeout(600_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  const workloads = Array.from({ length: scaled(5, 2) }, (_, index) => `asking-${index}`);
  const replicas = scaled(4, 2);
  let namespace: string;
  let version = 1;
  let deployments: readonly AskingDeployment[] = [];

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    await installOperator(
      node(),
      ...["--set=options.agent-rollouts=true", "--set=options.missing-source=refuse"],
    );
    await untilSourcesAreAwaited(node(), namespace);
    const source = `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources/source`;
    await node().cluster.api.apply(source, {
      ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlagSource" },
      metadata: { name: "source", namespace },
      spec: { sources: [{ source: "flags", provider: "flagd-proxy" }] },
    });
    deployments = await Promise.all(
      workloads.map((name) => AskingDeployment.create(node(), namespace, "source", { name, replicas })),
    );
    for (const name of workloads)
      await node().cluster.api.create(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
        metadata: { name },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
      });
    for (const deployment of deployments) await deployment.untilAll(version);
  });

  after(async () => {
    await node().cluster.api.request("DELETE", path);
    await Promise.all(deployments.map((each) => each.stop()));
    await uninstallOperator(node());
  });

  async function rollOut(spec: object): Promise<void> {
    await node().cluster.api.apply(path, {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name: "agents" } },
      spec: {
        from: [`${registryName}/agent:*`],
        ...{ minAge: "0s", observe: "2s", deadline: "60s", perNode: 10 },
        ...spec,
      },
    });
  }

  async function untilPhase(phase: string, of: string): Promise<AgentRolloutStatus> {
    let status: AgentRolloutStatus = {};
    await eventually(
      async () => {
        ({ status = {} } = (await node().cluster.api.get(path)) as { readonly status?: AgentRolloutStatus });
        return status.phase === phase && status.image === of;
      },
      `the rollout to be ${phase}`,
      300_000,
    ).catch((error: unknown) => {
      throw new Error(JSON.stringify(status), { cause: error });
    });
    return status;
  }

  async function pods(): Promise<readonly InjectedPod[]> {
    const { items } = await node().cluster.api.list(`/api/v1/namespaces/${namespace}/pods`);
    return items as unknown as readonly InjectedPod[];
  }

  const restarts = (of: "containerStatuses" | "initContainerStatuses", each: InjectedPod): number =>
    each.status[of]?.[0]?.restartCount ?? -1;

  /** Questions of the applications, and those that got no answer, so far. */
  function asked(): { readonly asked: number; readonly failures: readonly string[] } {
    const all = deployments.flatMap(({ answers }) => [...answers.values()]);
    return {
      asked: all.reduce((sum, each) => sum + each.asked, 0),
      failures: all.flatMap(({ failures }) => failures),
    };
  }

  it("gives all sidecars the image while their applications run on", async () => {
    const before = await pods();
    expect(before).to.have.lengthOf(workloads.length * replicas);
    await rollOut({ image: image("2") });
    const { updated, failed, failures: why } = await untilPhase("Completed", image("2"));
    expect([updated, failed], JSON.stringify(why)).to.deep.equal([before.length, 0]);
    const after = await pods();
    expect(after.map(({ metadata }) => metadata.name)).to.have.members(
      before.map((each) => each.metadata.name),
    );
    for (const each of after) {
      expect(each.spec.initContainers[0].image).to.equal(image("2"));
      expect([restarts("containerStatuses", each), restarts("initContainerStatuses", each)]).to.deep.equal([
        0, 1,
      ]);
    }
    await editVersion(node().cluster, namespace, "flags", ++version);
    for (const deployment of deployments) await deployment.untilAll(version);
    const { asked: questions, failures } = asked();
    console.log(`      ${questions} questions, ${failures.length} without an answer: ${failures.join(", ")}`);
  });

  it("halts with an image that is not there, and all go back", async () => {
    const images = async (): Promise<readonly string[]> =>
      (await pods()).map(({ spec }) => spec.initContainers[0].image).sort();
    const before = await images();
    await rollOut({ image: image("none"), deadline: "15s", failureThreshold: 1 });
    const { failures = [] } = await untilPhase("Halted", image("none"));
    expect(failures[0]?.message).to.contain("can pull the image");
    const isReady = ({ status }: InjectedPod): boolean => status.initContainerStatuses?.[0]?.ready === true;
    await eventually(
      async () => (await images()).join() === before.join() && (await pods()).every(isReady),
      "all have their image of before",
      120_000,
    );
    await editVersion(node().cluster, namespace, "flags", ++version);
    for (const deployment of deployments) await deployment.untilAll(version);
  });

  it("gave no application a wrong answer meanwhile", () => {
    for (const { answers } of deployments)
      for (const [name, { asked, values }] of answers) {
        expect(asked, name).to.be.greaterThan(100);
        expect(values, name).to.deep.equal([1, 2, 3]);
      }
  });
});
