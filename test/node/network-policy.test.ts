import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { installedProxy, proxyAddress, proxyNamespace } from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";
import { versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

const policy = `/apis/networking.k8s.io/v1/namespaces/${proxyNamespace}/networkpolicies/bunting-proxy`;
const permission = { "flags.test/allowed": "yes" };

interface PolicySpec {
  readonly ingress: readonly { readonly from: unknown; readonly ports: unknown }[];
}

describe("the proxy's NetworkPolicy", () => {
  const node = sharedNode();
  installedProxy(node);
  let namespace: string;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(1));
  });

  function options(inNamespace: string): { namespace: string; name: string; proxy: string; flags: string } {
    return { namespace: inNamespace, name: "workload", proxy: proxyAddress, flags: `${namespace}/flags` };
  }

  it("lets Pods of every namespace have flags, and only those of `monitoring` metrics", async () => {
    const monitoring = await node().cluster.createNamespace("monitoring");
    const inside = await Workload.create(node(), options(monitoring));
    const outside = await Workload.create(node(), options(namespace));
    const metrics = `http://${await proxyPodAddress()}:8016/metrics`;
    await inside.untilRunning();
    await outside.untilRunning();
    await inside.untilAnswers(versionFlag, 1);
    await outside.untilAnswers(versionFlag, 1);
    expect(await inside.reach(metrics)).to.deep.equal({ value: 200 });
    expect((await outside.reach(metrics)).errorCode).to.include("TimeoutError");
    await Promise.all([inside.delete(), outside.delete()]);
  });

  it("keeps flags from namespaces without permission once it names those with it, until they are permitted", async () => {
    const { spec } = await node().cluster.api.get(policy);
    const { ingress } = spec as PolicySpec;
    const [flags, ...others] = ingress;
    const from = [{ namespaceSelector: { matchLabels: permission } }];
    try {
      await node().cluster.api.patch(policy, { spec: { ingress: [{ ...flags, from }, ...others] } });
      const stranger = await node().cluster.createNamespace();
      const workload = await Workload.create(node(), options(stranger));
      await workload.untilRunning();
      // Others have their first flags within a second.
      await delay(5_000);
      expect(await workload.ask("ofrep", versionFlag)).to.deep.include({ errorCode: "GENERAL" });
      await node().cluster.api.patch(`/api/v1/namespaces/${stranger}`, { metadata: { labels: permission } });
      await workload.untilAnswers(versionFlag, 1);
      await workload.delete();
    } finally {
      await node().cluster.api.patch(policy, { spec: { ingress } });
    }
  });

  async function proxyPodAddress(): Promise<string> {
    const { items } = await node().cluster.api.list(`/api/v1/namespaces/${proxyNamespace}/pods`);
    const [address] = items.flatMap(({ metadata, status }) =>
      metadata["deletionTimestamp"] === undefined ? [(status as { podIP: string }).podIP] : [],
    );
    return address ?? "";
  }
});
