import { expect } from "chai";
import type { AgentRolloutStatus } from "@bunting/operator/internal/api/agent-rollout.js";
import { isInFlight, parseRecord } from "@bunting/operator/internal/upgrade/agent-record.js";
import { eventually } from "../support/event-queue.js";
import { logged, metrics, OperatorHome } from "./support/operator-home.js";
import { PlayedKubelet, type SidecarPod } from "./support/played-kubelet.js";
import { TestPolicies } from "./support/test-policies.js";
import { sharedCluster } from "./support/use-cluster.js";

const rollouts = "/apis/bunting.dev/v1alpha1/agentrollouts";
const [oldImage, newImage, badImage] = ["old", "new", "bad"].map((tag) => `registry.example/agent:${tag}`);

interface PullPod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string; readonly containers: readonly [{ readonly image: string }] };
}

const webhookOf = (namespace: string): string =>
  `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooked-${namespace}`;

describe("an AgentRollout on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let policies: TestPolicies;
  let home: OperatorHome;
  let namespace: string;
  let kubelet: PlayedKubelet;
  let name: string;
  /** The most Pods of each workload that were under way at a time. */
  let most: Map<string, number>;

  before(async () => {
    policies = new TestPolicies(cluster());
    home = await OperatorHome.create(cluster(), ["--agent-rollouts", "--leader-elect=false"]);
    await policies.install("operator.yaml", home.account.user);
  });
  after(() => policies.remove());

  beforeEach(async () => {
    namespace = await policies.createNamespace();
    name = `rollout-${namespace}`;
    kubelet = new PlayedKubelet(cluster(), namespace);
    most = new Map();
    kubelet.observe((pods) => {
      const counts = new Map<string, number>();
      for (const pod of pods.filter((each) => isUnderWay(each))) {
        const app = pod.metadata.labels?.["app"] ?? "";
        counts.set(app, (counts.get(app) ?? 0) + 1);
      }
      for (const [app, count] of counts) most.set(app, Math.max(most.get(app) ?? 0, count));
    });
  });

  afterEach(async () => {
    await home.stop();
    await kubelet.stop();
    await cluster().api.request("DELETE", `${rollouts}/${name}`);
    await cluster().api.request("DELETE", webhookOf(namespace));
  });

  const recordOf = ({ metadata: { annotations = {} } }: SidecarPod): ReturnType<typeof parseRecord> =>
    parseRecord(annotations["bunting.dev/agent-rollout"]);
  const isUnderWay = (pod: SidecarPod): boolean => isInFlight(recordOf(pod));

  async function createPods(app: string, count: number, of = namespace): Promise<void> {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: app, uid: "1", controller: true };
    const noToken = { automountServiceAccountToken: false };
    for (let index = 0; index < count; index++)
      await cluster().api.create(`/api/v1/namespaces/${of}/pods`, {
        metadata: {
          name: `${app}-${index}`,
          labels: { app, "bunting.dev/agent": "old" },
          annotations: { "openfeature.dev/enabled": "true", "bunting.dev/injected": "policy 1" },
          ownerReferences: [owner],
        },
        spec: {
          ...noToken,
          nodeName: `node-${index}`,
          initContainers: [{ name: "flagd", image: oldImage, restartPolicy: "Always" }],
          containers: [{ name: "app", image: "registry.example/app" }],
        },
      });
    if (of !== namespace) return;
    await eventually(async () => {
      const pods = await kubelet.pods();
      return pods.every(({ status }) => status.initContainerStatuses?.[0]?.ready === true);
    }, "the Pods are ready");
  }

  async function put(spec: object = {}): Promise<void> {
    await cluster().api.apply(`${rollouts}/${name}`, {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name } },
      spec: {
        ...{ image: newImage, from: ["registry.example/agent:*"], perNode: 10 },
        ...{ minAge: "0s", observe: "200ms", deadline: "5s" },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        ...spec,
      },
    });
  }

  async function status(): Promise<AgentRolloutStatus> {
    const { status: found = {} } = (await cluster().api.get(`${rollouts}/${name}`)) as {
      readonly status?: AgentRolloutStatus;
    };
    return found;
  }

  const untilStatus = (isSo: (found: AgentRolloutStatus) => boolean, what: string): Promise<void> =>
    eventually(async () => isSo(await status()), what, 60_000).catch(async (error: unknown) => {
      throw new Error(JSON.stringify(await status()), { cause: error });
    });

  async function images(): Promise<ReadonlySet<string>> {
    return new Set((await kubelet.pods()).map(({ spec }) => spec.initContainers[0].image));
  }

  it("gives every sidecar the image, as budgets allow, and says so", async () => {
    await createPods("web", 5);
    await createPods("db", 3);
    const budget = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
    await cluster().api.create(budget, {
      metadata: { name: "db" },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: "db" } } },
    });
    const other = await cluster().createNamespace();
    await createPods("web", 1, other);
    const operator = home.start("operator-1");
    await put({ maxUnavailable: 2 });
    await untilStatus(({ updated }) => updated === 5, "all are updated that no budget holds");
    const waiting = (await status()).conditions?.find(({ type }) => type === "Completed");
    expect(waiting?.message).to.contain("3 because a PodDisruptionBudget allows no more");
    // Here is no controller that counts.
    const counted = {
      disruptionsAllowed: 1,
      observedGeneration: 1,
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: 2,
    };
    await cluster().api.patch(`${budget}/db/status`, { status: counted });
    await untilStatus(({ phase }) => phase === "Completed", "it is completed");
    expect(await images()).to.deep.equal(new Set([newImage]));
    expect(most.get("web")).to.be.within(1, 2);
    expect(most.get("db")).to.equal(1);
    const found = await status();
    expect(found).to.deep.include({ desired: 8, updated: 8, ready: 8, failed: 0, observedGeneration: 1 });
    for (const {
      metadata,
      status: { initContainerStatuses = [] },
    } of await kubelet.pods()) {
      expect(metadata.annotations?.["bunting.dev/agent-previous"]).to.equal(oldImage);
      expect(initContainerStatuses[0]?.restartCount).to.equal(1);
    }
    const pod = await cluster().api.get(`/api/v1/namespaces/${other}/pods/web-0`);
    expect(JSON.stringify(pod)).to.contain(oldImage ?? "");
    const measured = await metrics(operator, "bunting_operator_rollout_pods");
    expect(measured.get(`{rollout="${name}",state="updated"}`)).to.equal(8);
    expect(logged(operator, "reconciling failed")).to.deep.equal([]);
  });

  it("goes on where an operator was killed in the middle of a wave", async () => {
    await createPods("web", 8);
    const first = home.start("operator-1");
    await put({ maxUnavailable: 3 });
    await eventually(async () => {
      const pods = await kubelet.pods();
      return pods.some((pod) => recordOf(pod)?.state === "updated") && pods.some(isUnderWay);
    }, "some are updated, and others under way");
    await first.stop("SIGKILL");
    home.start("operator-2");
    await untilStatus(({ phase }) => phase === "Completed", "it is completed");
    expect(await images()).to.deep.equal(new Set([newImage]));
    expect(most.get("web")).to.be.most(3);
    for (const {
      status: { initContainerStatuses = [] },
    } of await kubelet.pods())
      expect(initContainerStatuses[0]?.restartCount, "none was begun with twice").to.equal(1);
  });

  it("halts with a bad image, with the old one back everywhere, and goes on with another", async () => {
    await createPods("web", 4);
    home.start("operator-1");
    await put({ image: badImage, deadline: "1s", failureThreshold: 2, maxUnavailable: 2 });
    await untilStatus(({ phase }) => phase === "Halted", "it halts");
    const isBack = async (): Promise<boolean> =>
      (await kubelet.pods()).every((pod) => !isUnderWay(pod) && pod.status.initContainerStatuses?.[0]?.ready);
    await eventually(isBack, "all have ended");
    expect(await images()).to.deep.equal(new Set([oldImage]));
    const { failures = [], haltedReason, failed } = await status();
    expect(failed).to.equal(failures.length).and.at.least(2);
    expect(failures[0]?.message).to.contain(badImage).and.contain("ErrImagePull");
    expect(haltedReason).to.contain("Pods failed");
    const events = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    expect(events.items.map(({ reason }) => reason)).to.include("UpgradeFailed");
    await put();
    await untilStatus(({ phase, image }) => phase === "Completed" && image === newImage, "it goes on");
    expect(await images()).to.deep.equal(new Set([newImage]));
  });

  it("has what was updated before a halt go back as well", async () => {
    await createPods("web", 3);
    await createPods("late", 2);
    home.start("operator-1");
    await put({ podSelector: { matchLabels: { app: "web" } } });
    await untilStatus(({ phase, updated }) => phase === "Completed" && updated === 3, "some are updated");
    // What is found out late: two Pods of another workload never become ready with it.
    const fail = async (pod: string): Promise<void> => {
      const { uid } = (await cluster().api.get(`${rollouts}/${name}`)).metadata;
      const at = new Date().toISOString();
      const { since } = await status();
      const failed = { rollout: uid, image: newImage, state: "failed", at, begun: at, since };
      const record = JSON.stringify({ ...failed, imageID: "x", restarts: 0, why: "It broke." });
      const annotations = { "bunting.dev/agent-rollout": record };
      await cluster().api.patch(`/api/v1/namespaces/${namespace}/pods/${pod}`, { metadata: { annotations } });
    };
    for (const pod of ["late-0", "late-1"]) await fail(pod);
    await put({ failureThreshold: 2 });
    await untilStatus(({ phase }) => phase === "Halted", "it halts");
    await eventually(async () => !(await images()).has(newImage ?? ""), "all go back", 60_000);
    await eventually(async () => !(await kubelet.pods()).some(isUnderWay), "all have ended");
    expect(most.get("web"), "at the same pace").to.equal(1);
  });

  it("is led by nothing that a tenant writes on Pods to another image, another namespace, or no end", async () => {
    await createPods("web", 2);
    const other = await cluster().createNamespace();
    await createPods("web", 4, other);
    await put({ podSelector: { matchLabels: { app: "none" } } });
    home.start("operator-1");
    await untilStatus(({ phase }) => phase === "Completed", "there is no Pod yet that it is for");
    const { uid } = (await cluster().api.get(`${rollouts}/${name}`)).metadata;
    const { since } = await status();
    const forge = async (pod: string, of: string, forged: object): Promise<void> => {
      const record = { rollout: uid, image: newImage, imageID: "x", restarts: 0, since, ...forged };
      const annotations = {
        "bunting.dev/agent-rollout": JSON.stringify(record),
        "bunting.dev/agent-previous": "evil.example/agent:1",
      };
      // Also whoever may write nothing but statuses can do this.
      const path = `/api/v1/namespaces/${of}/pods/${pod}/status`;
      await cluster().api.patch(path, { metadata: { annotations } });
    };
    const [late, never] = ["2020-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z"];
    for (const [index, state] of ["updating", "observing", "failing", "failed"].entries())
      await forge(`web-${index}`, other, { state, at: late, begun: late, why: "forged" });
    await forge("web-0", namespace, { state: "updating", image: oldImage, at: never, begun: never });
    await forge("web-1", namespace, { state: "updating", image: oldImage, at: late, begun: late });
    await put();
    await untilStatus(({ phase, updated }) => phase === "Completed" && updated === 2, "it is completed");
    expect(await images()).to.deep.equal(new Set([newImage]));
    expect((await status()).failed, "of another image").to.equal(0);
    const { items } = await cluster().api.list(`/api/v1/namespaces/${other}/pods`);
    const untouched = items as unknown as readonly SidecarPod[];
    expect(new Set(untouched.map(({ spec }) => spec.initContainers[0].image))).to.deep.equal(
      new Set([oldImage]),
    );
  });

  it("names Pods that a policy or a webhook lets nobody change, and goes on with the others until there are too many", async () => {
    await createPods("fixed", 1);
    await createPods("hooked", 1);
    await createPods("web", 3);
    await cluster().api.apply(webhookOf(namespace), {
      ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" },
      metadata: { name: `hooked-${namespace}` },
      webhooks: [
        {
          ...{ name: "away.example.org", sideEffects: "None", admissionReviewVersions: ["v1"] },
          ...{ failurePolicy: "Fail", timeoutSeconds: 1, clientConfig: { url: "https://127.0.0.1:1/" } },
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          objectSelector: { matchLabels: { app: "hooked" } },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods"] }],
        },
      ],
    });
    const policyName = `fixed-${namespace}`;
    await policies.add({
      ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy" },
      metadata: { name: policyName },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods"] },
          ],
        },
        validations: [
          {
            expression: `object.metadata.namespace != '${namespace}' || object.metadata.labels.app != 'fixed'`,
            message: "images are fixed here",
          },
        ],
      },
    });
    await policies.add({
      ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicyBinding" },
      metadata: { name: policyName },
      spec: { policyName, validationActions: ["Deny"] },
    });
    const patch = async (name: string): Promise<number> => {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      const body = { metadata: { labels: { probe: "1" } } };
      const contentType = "application/merge-patch+json";
      return (await cluster().api.request("PATCH", path, { body, contentType })).status;
    };
    await eventually(async () => (await patch("fixed-0")) === 422, "the policy holds");
    await eventually(async () => (await patch("hooked-0")) === 500, "the webhook is called, and away");
    const operator = home.start("operator-1");
    const refusal = async (): Promise<string> => {
      const { conditions = [] } = await status();
      const found = conditions.find(({ type }) => type === "UpgradeRefused");
      return `${found?.status ?? ""} ${found?.message ?? ""}`;
    };
    await put({ failureThreshold: 3, maxUnavailable: 2 });
    await untilStatus(({ updated }) => updated === 3, "the others are updated");
    await eventually(async () => (await refusal()).includes("2 Pods"), "the condition says so");
    expect(await refusal())
      .to.contain(`True An API server refuses to change 2 Pods, the first of them ${namespace}/fixed-0`)
      .and.contain("images are fixed here");
    expect(await status()).to.deep.include({ phase: "Progressing", failed: 0 });
    const { conditions = [] } = await status();
    expect(conditions.find(({ type }) => type === "Completed")?.message).to.contain(
      "2 because an API server",
    );
    const { items } = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    expect(items.map(({ reason }) => reason)).to.include("UpgradeRefused");
    await put({ image: "registry.example/agent:other", failureThreshold: 2 });
    await untilStatus(
      ({ image, conditions: found = [] }) =>
        image === "registry.example/agent:other" &&
        found.some(({ message }) => message.includes("as many others as spec.failureThreshold")),
      "nothing more is begun",
    );
    expect(await images()).to.deep.equal(new Set([oldImage, newImage]));
    expect(logged(operator, "reconciling failed")).to.deep.equal([]);
  });

  it("has a node pull the image before a sidecar there gets it, and says where that fails", async () => {
    await createPods("web", 2);
    home.start("operator-1");
    const own = `/api/v1/namespaces/${home.account.namespace}/pods`;
    const pulls = async (): Promise<readonly PullPod[]> =>
      (await cluster().api.list(`${own}?labelSelector=${encodeURIComponent("bunting.dev/image-pull")}`))
        .items as unknown as readonly PullPod[];
    const play = async ({ metadata }: PullPod, phase: string, state: object): Promise<void> => {
      const container = { name: "image", image: "x", imageID: "x", ready: false, restartCount: 0, state };
      const path = `${own}/${metadata.name}/status`;
      await cluster().api.patch(path, { status: { phase, containerStatuses: [container] } });
    };
    const condition = async (): Promise<string> => {
      const found = (await status()).conditions?.find(({ type }) => type === "ImagePulled");
      return `${found?.reason ?? ""} ${found?.message ?? ""}`;
    };
    await put({ prePull: true });
    await eventually(async () => (await condition()).startsWith("Pulling"), "a node pulls");
    const first = await pulls();
    expect(first.map(({ spec }) => [spec.nodeName, spec.containers[0].image])).to.deep.equal([
      ["node-0", newImage],
    ]);
    const [pull] = first;
    if (pull === undefined) throw new Error("there is none");
    await play(pull, "Pending", { waiting: { reason: "ErrImagePull", message: "no such image" } });
    await eventually(async () => (await condition()).startsWith("CannotPull"), "it can't");
    expect(await condition()).to.contain("node-0: ErrImagePull: no such image");
    expect(await images(), "nothing was touched").to.deep.equal(new Set([oldImage]));
    const terminated = { exitCode: 0, reason: "Completed" };
    await play(pull, "Succeeded", { terminated });
    await untilStatus(({ updated }) => updated === 1, "the sidecar there gets it");
    await eventually(async () => (await pulls()).length === 2, "the next node pulls");
    for (const each of await pulls()) await play(each, "Succeeded", { terminated });
    await untilStatus(({ phase }) => phase === "Completed", "it is completed");
    expect(await images()).to.deep.equal(new Set([newImage]));
    await eventually(async () => (await pulls()).length === 0, "the Pods are gone that were for that");
  });

  it("begins nothing while it is paused", async () => {
    await createPods("web", 2);
    home.start("operator-1");
    await put({ paused: true });
    await untilStatus(({ phase, desired }) => phase === "Paused" && desired === 2, "it is paused");
    expect(await images()).to.deep.equal(new Set([oldImage]));
    await put();
    await untilStatus(({ phase }) => phase === "Completed", "it goes on");
    expect(await images()).to.deep.equal(new Set([newImage]));
  });

  it("turns what the open-feature-operator has injected, and back", async () => {
    const flagd = "ghcr.io/open-feature/flagd:v0.15.4";
    await createPods("web", 2);
    for (const { metadata } of await kubelet.pods()) {
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}`;
      const contentType = "application/json-patch+json";
      const body = [
        { op: "remove", path: "/metadata/labels/bunting.dev~1agent" },
        { op: "replace", path: "/spec/initContainers/0/image", value: flagd },
      ];
      await cluster().api.request("PATCH", path, { body, contentType });
    }
    await eventually(async () => {
      const pods = await kubelet.pods();
      return pods.every(({ status: { initContainerStatuses: [sidecar] = [] } }) =>
        sidecar?.imageID.includes("flagd"),
      );
    }, "flagd runs");
    home.start("operator-1");
    await put({ from: ["ghcr.io/open-feature/flagd:*"] });
    await untilStatus(({ phase, updated }) => phase === "Completed" && updated === 2, "they are ours");
    await put({ image: flagd });
    await untilStatus(({ phase, image }) => phase === "Completed" && image === flagd, "they are flagd's");
    expect(await images()).to.deep.equal(new Set([flagd]));
  });

  it("is nothing that those may create who may do everything in a namespace", async () => {
    const account = await cluster().createServiceAccountToken(namespace, "tenant");
    await cluster().api.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
      metadata: { name: "tenant" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "tenant", namespace }],
    });
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const { token } = account;
    await eventually(
      async () => (await cluster().api.request("GET", pods, { token })).status === 200,
      "the tenant may do what is in its namespace",
    );
    const body = {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name } },
      spec: { image: newImage, from: ["*"] },
    };
    for (const path of [rollouts, `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/agentrollouts`]) {
      const { status: code } = await cluster().api.request("POST", path, { body, token });
      expect(code, path).to.be.oneOf([403, 404]);
    }
  });
});
