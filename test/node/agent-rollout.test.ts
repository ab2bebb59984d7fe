import { expect } from "chai";
import type { AgentRolloutStatus } from "@bunting/operator/internal/api/agent-rollout.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { skipWithout } from "../helm/support/tool.js";
import { registryName } from "./support/addresses.js";
import { AskingDeployment } from "./support/asking-deployment.js";
import { flagdImage } from "./support/images.js";
import {
  installOperator,
  operatorNamespace,
  operatorPods,
  uninstallOperator,
  untilSourcesAreAwaited,
} from "./support/operator.js";
import { RolloutWatch, type UpgradedPod } from "./support/rollout-watch.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionSpec } from "./support/version-flag.js";

const path = "/apis/bunting.dev/v1alpha1/agentrollouts/agents";
const image = (tag: string): string => `${registryName}/agent:${tag}`;
const maxInFlight = 4;

describe("an AgentRollout on a real node", function () {
  this.timeout(600_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  const workloads = Array.from({ length: scaled(5, 2) }, (_, index) => `asking-${index}`);
  const replicas = scaled(4, 2);
  // Two processors are for the sidecars that start: the questions of all Pods together are as many, however many Pods there are.
  const pauseMs = 5 * workloads.length * replicas;
  let namespace: string;
  let version = 1;
  let deployments: readonly AskingDeployment[] = [];
  let watch: RolloutWatch;

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
      workloads.map((name) =>
        AskingDeployment.create(node(), namespace, "source", { name, replicas, pauseMs }),
      ),
    );
    for (const name of workloads)
      await node().cluster.api.create(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
        metadata: { name },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
      });
    for (const deployment of deployments) await deployment.untilAll(version);
    watch = new RolloutWatch(node(), namespace);
  });

  after(async () => {
    await node().cluster.api.request("DELETE", path);
    await watch.stop();
    await Promise.all(deployments.map((each) => each.stop()));
    await uninstallOperator(node());
  });

  async function rollOut(spec: object): Promise<void> {
    await node().cluster.api.apply(path, {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name: "agents" } },
      spec: {
        from: [`${registryName}/agent:*`],
        ...{ minAge: "0s", observe: "2s", deadline: "60s", perNode: 10, maxInFlight },
        ...spec,
      },
    });
  }

  async function status(): Promise<AgentRolloutStatus> {
    return ((await node().cluster.api.get(path)) as { readonly status?: AgentRolloutStatus }).status ?? {};
  }

  async function untilStatus(
    isSo: (found: AgentRolloutStatus) => boolean,
    what: string,
  ): Promise<AgentRolloutStatus> {
    let last: AgentRolloutStatus = {};
    await eventually(async () => isSo((last = await status())), what, 300_000).catch((error: unknown) => {
      throw new Error(JSON.stringify(last), { cause: error });
    });
    return last;
  }
  const untilPhase = (wanted: string, of: string): Promise<AgentRolloutStatus> =>
    untilStatus(({ phase, image: found }) => phase === wanted && found === of, `the rollout to be ${wanted}`);

  const condition = ({ conditions = [] }: AgentRolloutStatus, type: string): string => {
    const found = conditions.find((each) => each.type === type);
    return `${found?.status} ${found?.reason} ${found?.message}`;
  };

  const restarts = (of: "containerStatuses" | "initContainerStatuses", each: UpgradedPod): number =>
    each.status[of]?.[0]?.restartCount ?? -1;

  /** Expects that all have come to this image in place, with so many restarts of the sidecar, none of the application, and newest flags. */
  async function expectAll(of: string, sidecarRestarts: number, app?: string): Promise<void> {
    const pods = (await watch.pods()).filter(
      ({ metadata }) => app === undefined || metadata.labels["app"] === app,
    );
    for (const each of pods) {
      const { name } = each.metadata;
      expect(each.spec.initContainers[0].image, name).to.equal(of);
      const counts = [restarts("containerStatuses", each), restarts("initContainerStatuses", each)];
      expect(counts, name).to.deep.equal([0, sidecarRestarts]);
    }
    await editVersion(node().cluster, namespace, "flags", ++version);
    for (const deployment of deployments) await deployment.untilAll(version);
  }

  /**
   * The questions of applications that got no answer since the last call. Those over OFREP are left out: who asks while a
   * sidecar restarts is refused, and does not ask again by itself.
   */
  function unanswered(): readonly string[] {
    const all = deployments.flatMap(({ answers }) =>
      [...answers].flatMap(([name, { failures }]) => failures.map((failure) => `${name} ${failure}`)),
    );
    const lost = all.filter((each) => !each.includes("askOfrep") && !told.has(each));
    for (const each of lost) told.add(each);
    return lost;
  }
  const told = new Set<string>();
  const tellUnanswered = (): void => {
    const lost = unanswered();
    console.log(`      ${lost.length} questions over gRPC had no answer in time: ${lost.join(", ")}`);
  };

  /** Between the end of each sidecar and the start of the next, as the kubelet has them: in whole seconds, and without the time that it takes to be ready. */
  async function secondsDown(): Promise<string> {
    const each = (await watch.pods()).map(({ status: { initContainerStatuses: [sidecar] = [] } }) => {
      const ended = Date.parse(sidecar?.lastState["terminated"]?.finishedAt ?? "");
      return (Date.parse(sidecar?.state["running"]?.startedAt ?? "") - ended) / 1_000;
    });
    return `seconds without a sidecar: ${each.join(", ")}`;
  }

  function expectBudgets(): void {
    const { mostOfWorkload, mostInAll } = watch.take();
    expect([...mostOfWorkload.values()], JSON.stringify([...mostOfWorkload])).to.satisfy((most: number[]) =>
      most.every((count) => count <= 1),
    );
    expect(mostInAll).to.be.within(1, maxInFlight);
  }

  it("gives all sidecars the image, as budgets allow, each after its node has it and proven by the proxy", async () => {
    const before = await watch.pods();
    expect(before).to.have.lengthOf(workloads.length * replicas);
    await rollOut({ image: image("2"), prePull: true });
    const found = await untilPhase("Completed", image("2"));
    expect([found.updated, found.failed], JSON.stringify(found.failures)).to.deep.equal([before.length, 0]);
    expect(condition(found, "ImagePulled")).to.match(/^True Pulled/);
    expect(condition(found, "UpgradeRefused")).to.match(/^False/);
    const after = await watch.pods();
    expect(after.map(({ metadata }) => metadata.name)).to.have.members(
      before.map(({ metadata }) => metadata.name),
    );
    for (const pod of after) expect(watch.recordOf(pod)?.isServed, pod.metadata.name).to.equal(true);
    await expectAll(image("2"), 1);
    expect(unanswered(), await secondsDown()).to.deep.equal([]);
    expectBudgets();
    const pulls = `/api/v1/namespaces/${operatorNamespace}/pods?labelSelector=bunting.dev%2Fimage-pull`;
    await eventually(
      async () => (await node().cluster.api.list(pulls)).items.length === 0,
      "the Pods are gone by which the node has pulled it",
    );
  });

  it("goes on where all operators were killed in the middle of a wave", async () => {
    await rollOut({ image: image("1") });
    await eventually(
      async () => {
        const states = (await watch.pods())
          .map((pod) => watch.recordOf(pod))
          .filter((each) => each?.image === image("1"));
        return (
          states.some((each) => each?.state === "updated") &&
          states.some((each) => each?.state === "updating")
        );
      },
      "some are updated, and others under way",
      120_000,
    );
    const killed = await operatorPods(node());
    const now = ["--force", "--grace-period=0"];
    await node().kubectl(["-n", operatorNamespace, "delete", "pod", ...killed, ...now]);
    const { failed, failures } = await untilPhase("Completed", image("1"));
    expect(failed, JSON.stringify(failures)).to.equal(0);
    await expectAll(image("1"), 2);
    tellUnanswered();
    expectBudgets();
  });

  it("touches no sidecar for an image that its node can't pull, where that is to be there before", async () => {
    await rollOut({ image: image("none"), prePull: true });
    const found = await untilStatus(
      (each) => condition(each, "ImagePulled").startsWith("False CannotPull"),
      "the node can't pull it",
    );
    expect(condition(found, "ImagePulled")).to.contain("none");
    expect([found.inFlight, found.failed]).to.deep.equal([0, 0]);
    await expectAll(image("1"), 2);
    expect(unanswered()).to.deep.equal([]);
  });

  it("halts at the threshold with an image that does not start, and all go back", async () => {
    const failureThreshold = scaled(3, 1);
    watch.take();
    await rollOut({ image: image("none"), deadline: "15s", failureThreshold });
    const { failures = [], failed = 0 } = await untilPhase("Halted", image("none"));
    expect(failed).to.be.within(failureThreshold, failureThreshold + maxInFlight - 1);
    expect(failures[0]?.message).to.contain("can pull the image");
    await eventually(
      async () => {
        const pods = await watch.pods();
        return pods.every(
          ({ spec, status: { initContainerStatuses = [] } }) =>
            spec.initContainers[0].image === image("1") && initContainerStatuses[0]?.ready === true,
        );
      },
      "all have their image of before",
      120_000,
    );
    expectBudgets();
    await editVersion(node().cluster, namespace, "flags", ++version);
    for (const deployment of deployments) await deployment.untilAll(version);
    // A sidecar that is stopped for an image that is not there is down for longer than a client tries again.
    tellUnanswered();
  });

  it("turns sidecars into flagd, those into ours, and back", async () => {
    const [app = ""] = workloads;
    const podSelector = { matchLabels: { app } };
    const flagd = { from: [flagdImage.replace(/:.*/, ":*")], podSelector };
    for (const [of, spec] of [
      [flagdImage, { podSelector }],
      [image("2"), flagd],
      [flagdImage, { podSelector }],
    ] as const) {
      await rollOut({ image: of, ...spec });
      const { failed, failures, updated } = await untilPhase("Completed", of);
      expect([failed, updated], JSON.stringify(failures)).to.deep.equal([0, replicas]);
      const pods = (await watch.pods()).filter(({ metadata }) => metadata.labels["app"] === app);
      expect(new Set(pods.map(({ spec: { initContainers } }) => initContainers[0].image))).to.deep.equal(
        new Set([of]),
      );
      await editVersion(node().cluster, namespace, "flags", ++version);
      for (const deployment of deployments) await deployment.untilAll(version);
      tellUnanswered();
    }
    expectBudgets();
  });

  it("gave no application an older value after a newer one", () => {
    // Where flagd was in between, ours begins with its copy from before that.
    for (const { answers } of deployments.slice(1))
      for (const [name, { asked, values }] of answers) {
        expect(asked, name).to.be.greaterThan(100);
        expect(values, name).to.deep.equal([...values].sort((a, b) => Number(a) - Number(b)));
      }
  });
});
