import { expect } from "chai";
import type { Condition } from "@bunting/kube";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { OperatorHome } from "./support/operator-home.js";
import { freshCluster } from "./support/use-cluster.js";

/** Where Deployments get Pods, and quotas are counted. */
describe("what the operator deploys, in namespaces that take no Pods", function () {
  this.timeout(120_000);
  const cluster = freshCluster({
    controllerManager: true,
    controllers: ["deployment-controller", "replicaset-controller", "resourcequota-controller"],
  });
  let home: OperatorHome;

  before(async () => {
    home = await OperatorHome.create(cluster(), ["--flagd"]);
    for (const namespace of [home.account.namespace, home.shop])
      await cluster().api.apply(...quota(namespace));
    await home.start("operator-1").leads();
  });
  after(() => home.stop());

  const quota = (namespace: string): [path: string, object: object] => [
    `/api/v1/namespaces/${namespace}/resourcequotas/none`,
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none", namespace },
      spec: { hard: { pods: "0" } },
    },
  ];

  /** Waits until an object has this condition, and resolves with its message. */
  async function condition(path: string, type: string, reason: string): Promise<string> {
    let found: Condition | undefined;
    await eventually(
      async () => {
        const { status } = (await cluster().api.get(path)) as ApiObject & {
          readonly status?: { readonly conditions?: readonly Condition[] };
        };
        found = status?.conditions?.find((each) => each.type === type);
        return found?.reason === reason;
      },
      `${type} is so because of ${reason}`,
      60_000,
    );
    return found?.message ?? "";
  }

  it("says why in the conditions of what asks for it, and goes on once they do", async () => {
    const sources = [{ source: "flags", provider: "flagd-proxy" }];
    const source = home.path("FeatureFlagSource", "app");
    const flagd = home.path("Flagd", "alone");
    await home.put("FeatureFlagSource", "app", { sources });
    await home.put("Flagd", "alone", { featureFlagSource: "app" });
    const refusal = "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0";
    expect(await condition(source, "ProxyReady", "Degraded"))
      .to.contain(refusal)
      .and.not.contain('"');
    expect(await condition(flagd, "Progressing", "PodsRefused")).to.contain(refusal);
    for (const namespace of [home.account.namespace, home.shop])
      await cluster().api.delete(quota(namespace)[0]);
    await condition(source, "ProxyReady", "Progressing");
    await condition(flagd, "Progressing", "Deploying");
  });
});
