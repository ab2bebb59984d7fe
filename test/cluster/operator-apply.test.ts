import { readFileSync } from "node:fs";
import path from "node:path";
import { connectCluster, KubeError, type ConnectedCluster, type KubeObject } from "@bunting/kube";
import { Applier, type Applied } from "@bunting/operator/internal/controllers/apply/applier.js";
import type { DesiredObject } from "@bunting/operator/internal/desired/desired-object.js";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { sharedCluster } from "./support/use-cluster.js";

const deployments = { group: "apps", version: "v1", plural: "deployments" };
const recorded = path.join(
  import.meta.dirname,
  "../fixtures/stock-operator/proxy-objects-managed-fields.json",
);
const name = "flagd-proxy";
const managed = { "app.kubernetes.io/managed-by": "open-feature-operator" };

interface DeploymentSpec {
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly minReadySeconds?: number;
  readonly template: {
    readonly metadata: object;
    readonly spec: {
      readonly containers: readonly { readonly image: string; readonly args?: readonly string[] }[];
      readonly topologySpreadConstraints?: readonly object[];
    };
  };
}

describe("applying objects of the operator to a real API server", function () {
  this.timeout(60_000);
  const cluster = sharedCluster();
  let namespace: string;
  let connected: ConnectedCluster;
  let abort: AbortController;
  let connections: Promise<unknown>;
  let drifted: string[];
  let applier: Applier;

  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    const program = "bunting-test/0.0.0";
    connected = await connectCluster(choice, { program, clock: systemClock, env: {} });
    abort = new AbortController();
    connections = connected.connections.run(abort.signal);
    drifted = [];
    applier = applierThat("repair");
  });

  afterEach(async () => {
    abort.abort();
    await connections;
  });

  function applierThat(drift: "repair" | "enforce"): Applier {
    const metrics = {
      drifted: (object: string, manager: string) => void drifted.push(`${object} ${manager}`),
    };
    return new Applier({ client: connected.client, drift, metrics });
  }

  function deployment(spec: object = {}, labels: object = managed): DesiredObject {
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace, labels: { ...labels } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name, image: "proxy:1", args: ["start"] }] },
        },
        ...spec,
      },
    };
  }

  const scope = () => ({ type: deployments, namespace, name });
  const apply = (object = deployment()): Promise<Applied> => applier.apply(object, abort.signal);
  const live = (): Promise<KubeObject> => connected.client.get(scope(), abort.signal);
  const specOf = (object: KubeObject): DeploymentSpec =>
    (object as unknown as { readonly spec: DeploymentSpec }).spec;
  const liveSpec = async (): Promise<DeploymentSpec> => specOf(await live());
  const container = (fields: object) => ({ template: { spec: { containers: [{ name, ...fields }] } } });

  /** As `kubectl edit` and `kubectl patch` do. */
  function edit(spec: object, manager = "kubectl-edit"): Promise<KubeObject> {
    const query = { fieldManager: manager };
    return connected.client.patch(scope(), "strategic", { spec }, abort.signal, { query });
  }

  /** As Argo CD does. */
  function applyAs(fieldManager: string, spec: object): Promise<KubeObject> {
    const { apiVersion, kind } = deployment();
    const object = { apiVersion, kind, metadata: { name, namespace }, spec };
    return connected.client.apply(scope(), object, { fieldManager, force: true }, abort.signal);
  }

  /** As an HPA and `kubectl scale` do. */
  function scale(replicas: number): Promise<KubeObject> {
    const options = { subresource: "scale", query: { fieldManager: "kube-controller-manager" } };
    return connected.client.patch(scope(), "merge", { spec: { replicas } }, abort.signal, options);
  }

  it("creates an object, and writes nothing where nothing has changed", async () => {
    expect(await apply()).to.include({ kind: "applied", change: "created" });
    const { resourceVersion } = (await live()).metadata;
    expect(await apply()).to.include({ kind: "applied", change: "none" });
    expect((await live()).metadata.resourceVersion).to.equal(resourceVersion);
    expect(await apply(deployment({ replicas: 4 }))).to.include({ change: "changed" });
  });

  it("takes back what was edited, and leaves fields that it does not apply", async () => {
    await apply();
    await edit({
      ...container({ image: "proxy:edited", resources: { limits: { cpu: "1" } } }),
      minReadySeconds: 7,
    });
    const outcome = await apply();
    expect(outcome).to.deep.include({ change: "changed", overridden: [] });
    expect(outcome).to.have.property("overruled").with.lengthOf(1);
    expect(await liveSpec()).to.include({ minReadySeconds: 7 });
    expect((await liveSpec()).template.spec.containers[0]).to.deep.include({
      image: "proxy:1",
      resources: { limits: { cpu: "1" } },
    });
    expect(drifted).to.deep.equal(["Deployment kubectl-edit"]);
    expect(await apply()).to.include({ change: "none" });
    await edit({ replicas: 3, ...container({ image: "proxy:edited" }) }, "a name of their own");
    await apply();
    expect(drifted, "others may have any name").to.deep.equal([
      "Deployment kubectl-edit",
      "Deployment other",
    ]);
  });

  it("puts back a field that was removed, and its label", async () => {
    await apply();
    await edit(container({ args: null }));
    const labels = { "app.kubernetes.io/managed-by": null };
    await connected.client.patch(scope(), "merge", { metadata: { labels } }, abort.signal);
    expect(await apply()).to.include({ kind: "applied", change: "changed" });
    expect((await liveSpec()).template.spec.containers[0]?.args).to.deep.equal(["start"]);
    expect((await live()).metadata.labels).to.deep.equal(managed);
  });

  it("leaves a field to those who apply it, and still applies the others", async () => {
    await apply();
    await applyAs("argocd-controller", container({ image: "proxy:argo" }));
    await edit(container({ args: ["edited"] }));
    const outcome = await apply(deployment({ minReadySeconds: 5 }));
    expect(outcome)
      .to.have.property("overridden")
      .that.deep.equals([
        {
          field: '.spec.template.spec.containers[name="flagd-proxy"].image',
          manager: "argocd-controller",
          operation: "Apply",
        },
      ]);
    expect((await liveSpec()).template.spec.containers[0]).to.deep.include({
      image: "proxy:argo",
      args: ["start"],
    });
    expect(await liveSpec()).to.include({ minReadySeconds: 5 });
    const { resourceVersion } = (await live()).metadata;
    await apply(deployment({ minReadySeconds: 5 }));
    expect((await live()).metadata.resourceVersion, "no fight").to.equal(resourceVersion);
  });

  it("takes fields from those who apply them where drift is enforced", async () => {
    await apply();
    await applyAs("argocd-controller", container({ image: "proxy:argo" }));
    applier = applierThat("enforce");
    expect(await apply()).to.deep.include({ change: "changed", overridden: [] });
    expect((await liveSpec()).template.spec.containers[0]).to.include({ image: "proxy:1" });
  });

  it("applies the replicas until others scale, and never again", async () => {
    await apply();
    await apply();
    expect(await liveSpec()).to.include({ replicas: 3 });
    await scale(5);
    for (const replicas of [3, 2]) {
      expect(await apply(deployment({ replicas }))).to.deep.include({ overruled: [], overridden: [] });
      expect(await liveSpec()).to.include({ replicas: 5 });
    }
    await edit({ replicas: 6 });
    await apply();
    expect(await liveSpec()).to.include({ replicas: 6 });
  });

  it("leaves the replicas to whom scales between its reading and its writing", async () => {
    await apply();
    const { client } = connected;
    let scaled: Promise<unknown> | undefined;
    const racing = new Applier({
      client: {
        get: (...args) => client.get(...args),
        patch: (...args) => client.patch(...args),
        delete: (...args) => client.delete(...args),
        apply: async (...args) => {
          scaled ??= scale(5);
          await scaled;
          return client.apply(...args);
        },
      },
      drift: "repair",
      metrics: { drifted: (object, manager) => void drifted.push(`${object} ${manager}`) },
    });
    await racing.apply(deployment({ minReadySeconds: 1 }), abort.signal);
    expect(await liveSpec()).to.include({ replicas: 5, minReadySeconds: 1 });
    expect(drifted).to.deep.equal([]);
  });

  it("sees what is applied by others between its two writes", async () => {
    await apply();
    await edit(container({ image: "proxy:edited" }));
    const { client } = connected;
    let argo: Promise<unknown> | undefined;
    const racing = new Applier({
      client: {
        get: (...args) => client.get(...args),
        patch: (...args) => client.patch(...args),
        delete: (...args) => client.delete(...args),
        apply: async (...args) => {
          if (args[2].force === true) {
            argo ??= applyAs("argocd-controller", container({ image: "proxy:argo" }));
            await argo;
          }
          return client.apply(...args);
        },
      },
      drift: "repair",
      metrics: { drifted: () => undefined },
    });
    await racing.apply(deployment(), abort.signal);
    expect((await liveSpec()).template.spec.containers[0]).to.include({ image: "proxy:argo" });
  });

  it("touches nothing that is somebody else's", async () => {
    const body = { ...deployment({}, { app: "other" }) };
    const before = await connected.client.create({ type: deployments, namespace }, body, abort.signal);
    expect(await apply()).to.have.property("kind", "nameTaken");
    expect(await applier.remove(deployment(), abort.signal)).to.equal(false);
    expect((await live()).metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
  });

  it("takes over what the open-feature-operator made: fields that we do not apply go", async () => {
    const { items } = JSON.parse(readFileSync(recorded, "utf8")) as { items: readonly KubeObject[] };
    const stock = items.find(({ kind }) => kind === "Deployment");
    const { labels, managedFields } = stock?.metadata as unknown as {
      labels: object;
      managedFields: object[];
    };
    const created = { ...stock, metadata: { name, namespace, labels } };
    const query = { fieldManager: "manager" };
    await connected.client.create({ type: deployments, namespace }, created, abort.signal, { query });
    const entries = (await live()).metadata["managedFields"] as { fieldsV1: { "f:spec": object } }[];
    const stockFields = managedFields[0] as { fieldsV1: { "f:spec": object } };
    expect(entries[0]?.fieldsV1["f:spec"], "as recorded").to.deep.equal(stockFields.fieldsV1["f:spec"]);
    await scale(4);
    expect((await liveSpec()).template.spec.topologySpreadConstraints).to.have.lengthOf(1);
    expect(await apply()).to.include({ kind: "applied", change: "adopted" });
    const spec = await liveSpec();
    expect(spec.template.spec.topologySpreadConstraints).to.equal(undefined);
    expect(spec.template.metadata).to.not.have.nested.property("labels.app\\.kubernetes\\.io/version");
    expect((await live()).metadata.labels).to.deep.equal(managed);
    expect(spec.replicas, "was scaled by others").to.equal(4);
    expect(await apply()).to.include({ change: "none" });
  });

  it("deletes what is no longer wanted, once", async () => {
    expect(await applier.remove(deployment(), abort.signal)).to.equal(false);
    await apply();
    expect(await applier.remove(deployment(), abort.signal)).to.equal(true);
    expect(await applier.remove(deployment(), abort.signal)).to.equal(false);
    const gone = await live().catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(KubeError).with.property("code", "NOT_FOUND");
  });

  it("rejects with what the API server says is invalid", async () => {
    await apply();
    const other = deployment({ selector: { matchLabels: { app: "other" } } });
    const refused = await apply(other).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(KubeError).with.property("code", "INVALID");
  });
});
