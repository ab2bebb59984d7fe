import path from "node:path";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { logged, readiness } from "./support/operator-home.js";
import { OperatorProcess } from "./support/operator-process.js";
import { grant, permissionsOf } from "./support/operator-roles.js";
import { registerWebhooks } from "./support/register-webhooks.js";
import { freshCluster } from "./support/use-cluster.js";

const core = "/apis/core.openfeature.dev/v1beta1";
const overlay = path.resolve(import.meta.dirname, "../../deploy/kustomize/operator-namespaces");

/** Operators of some namespaces each, as their images start them, with rights in these alone. */
describe("operators with --watch-namespaces", function () {
  this.timeout(120_000);
  const cluster = freshCluster();
  const running: OperatorProcess[] = [];
  after(() => Promise.all(running.map((each) => each.stop("SIGKILL"))));

  /** Served by the first: one with a source, one whose FeatureFlags are not to be refused, and one that is not there yet. */
  let shop: string;
  let lenient: string;
  const later = "comes-later";
  /** Served by the second. */
  let blog: string;
  /** Served by nobody. */
  let other: string;
  const homes = ["team-a", "team-b"] as const;
  let first: OperatorProcess;

  async function startIn(home: (typeof homes)[number], served: readonly string[]): Promise<OperatorProcess> {
    const args = [`--watch-namespaces=${served.join(",")}`];
    const account = await cluster().createServiceAccountToken(home, "bunting-operator");
    const granted = await permissionsOf(args, home);
    const existing = served.filter((each) => each !== later);
    await grant(cluster(), account, granted, existing);
    const operator = OperatorProcess.start({ account, pod: `${home}-1`, args });
    running.push(operator);
    await operator.leads();
    await eventually(
      async () => (await readiness(operator)).isReady,
      `it is ready; ${operator.process.output}`,
    );
    return operator;
  }

  before("they run", async () => {
    for (const home of homes) await cluster().createNamespace(home);
    [shop = "", lenient = "", blog = "", other = ""] = await Promise.all(
      Array.from({ length: 4 }, () => cluster().createNamespace()),
    );
    await cluster().api.patch(`/api/v1/namespaces/${lenient}`, {
      metadata: { annotations: { "bunting.dev/validation": "warn" } },
    });
    first = await startIn("team-a", [shop, lenient, later]);
    const second = await startIn("team-b", [blog]);
    await registerWebhooks(cluster(), "team-a", await first.webhookPort(), [shop, lenient, later]);
    await registerWebhooks(cluster(), "team-b", await second.webhookPort(), [blog]);
  });

  const putSource = (namespace: string, name: string, source = "flags"): Promise<unknown> =>
    cluster().api.apply(`${core}/namespaces/${namespace}/featureflagsources/${name}`, {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name, namespace },
      spec: { sources: [{ source, provider: "flagd-proxy" }] },
    });

  const untilCompiled = (namespace: string, name: string): Promise<void> =>
    eventually(
      async () => {
        const path = `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections/bunting`;
        const { status, text } = await cluster().api.request("GET", path);
        return status === 200 && text.includes(`"${name}":{`);
      },
      `${namespace}/${name} is compiled; ${running.map((each) => each.process.output).join("\n")}`,
    );

  /** The arguments of the sidecar of a new Pod; undefined if it has none. */
  async function sidecarOf(namespace: string, source: string): Promise<string | undefined> {
    const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": source };
    const pod = await cluster().api.create(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: { generateName: "app-", annotations },
      spec: { containers: [{ name: "app", image: "registry.example/app" }] },
    });
    const { initContainers = [] } = pod["spec"] as {
      readonly initContainers?: readonly { readonly args: readonly string[] }[];
    };
    return initContainers[0]?.args.join(" ");
  }

  it("give Pods flags where they serve, each by a proxy of its own, and nobody else", async () => {
    for (const namespace of [shop, blog, other]) await putSource(namespace, "app");
    for (const namespace of [shop, blog]) await untilCompiled(namespace, "app");
    expect(await sidecarOf(shop, "app")).to.contain("flagd-proxy-svc.team-a.svc");
    expect(await sidecarOf(blog, "app")).to.contain("flagd-proxy-svc.team-b.svc");
    expect(await sidecarOf(other, "app")).to.equal(undefined);
    const { items } = await cluster().api.list("/apis/bunting.dev/v1alpha1/injections");
    expect(items.map(({ metadata }) => metadata.namespace)).to.have.members([shop, blog]);
  });

  it("say of a source that it names what they may not read", async () => {
    await putSource(shop, "abroad", `${other}/flags`);
    const path = `${core}/namespaces/${shop}/featureflagsources/abroad`;
    await eventually(async () => {
      const { text } = await cluster().api.request("GET", path);
      return text.includes("NamespaceNotServed") && text.includes(`add ${other} to its --watch-namespaces`);
    }, "its status says so");
  });

  it("obey the annotations of their namespaces", async () => {
    const flags = { bad: { state: "ENABLED", variants: { on: true }, defaultVariant: "off" } };
    const put = (namespace: string): Promise<string> =>
      cluster()
        .putFeatureFlag(namespace, "bad", { flags })
        .then(
          () => "stored",
          (error: unknown) => (error as Error).message,
        );
    expect(await put(shop)).to.contain("off");
    expect(await put(lenient)).to.equal("stored");
    expect(await put(other)).to.equal("stored");
  });

  it("are ready without a namespace that does not exist, say so, and serve it once it is there with their Role", async () => {
    expect((await readiness(first)).text).to.contain(`nothing is served in ${later}`);
    expect(logged(first, "nothing is served in the namespace")).to.have.lengthOf(1);
    await cluster().createNamespace(later);
    await putSource(later, "app");
    const account = { namespace: "team-a", name: "bunting-operator" };
    const args = [`--watch-namespaces=${later}`];
    await grant(cluster(), account, await permissionsOf(args, "team-a"), [later]);
    await untilCompiled(later, "app");
    await eventually(
      async () => (await readiness(first)).text.trim() === "ready",
      "nothing is left to be said",
    );
    expect(await sidecarOf(later, "app")).to.contain("team-a");
  });

  it("go on where they serve when one of their namespaces ends", async () => {
    await cluster().api.delete(`/api/v1/namespaces/${later}`);
    await putSource(shop, "after");
    await untilCompiled(shop, "after");
    expect((await readiness(first)).isReady).to.equal(true);
  });

  it("are made by deploy/kustomize/operator-namespaces as well, with policies that hold where they serve", async () => {
    await cluster().createNamespace("shop");
    await cluster().kubectl(["apply", "-k", overlay]);
    const account = await cluster().createServiceAccountToken("bunting-system", "bunting-operator");
    const deployment = await cluster().api.get(
      "/apis/apps/v1/namespaces/bunting-system/deployments/bunting-operator",
    );
    const { template } = deployment["spec"] as {
      readonly template: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } };
    };
    const args = template.spec.containers[0]?.args.slice(1) ?? [];
    expect(args).to.include("--watch-namespaces=shop");
    const operator = OperatorProcess.start({ account, pod: "kustomized", args });
    running.push(operator);
    await operator.leads();
    await putSource("shop", "app");
    await untilCompiled("shop", "app");
    // No Service routes to the webhook here: it is the policy that injects.
    await eventually(
      async () => (await sidecarOf("shop", "app"))?.includes("flagd-proxy-svc.bunting-system") === true,
      "the API server injects",
    );
    expect(await sidecarOf(other, "app")).to.equal(undefined);
    const { token } = account;
    const statusOf = async (at: string): Promise<number> =>
      (await cluster().api.request("GET", at, { token })).status;
    const ofCluster = ["/api/v1/pods", "/api/v1/namespaces", `${core}/featureflags`];
    for (const at of [...ofCluster, `/api/v1/namespaces/${shop}/pods`, `/api/v1/namespaces/${shop}`])
      expect(await statusOf(at), at).to.equal(403);
    expect(await statusOf("/api/v1/namespaces/shop")).to.equal(200);
    expect(logged(operator, "can't be watched")).to.deep.equal([]);
  });

  it("refuse at the start what needs more than rights in namespaces, in a sentence", async () => {
    const account = await cluster().createServiceAccountToken("team-a", "bunting-operator");
    const args = [`--watch-namespaces=${shop}`, "--agent-rollouts"];
    const refused = OperatorProcess.start({ account, pod: "refused", args });
    running.push(refused);
    expect(await refused.process.exit).to.not.equal(0);
    expect(refused.process.output).to.contain("--agent-rollouts obeys objects of the whole cluster");
  });
});
