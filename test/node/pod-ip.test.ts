import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { installProxyByAddress, type ProxyByAddress } from "./support/proxy-by-address.js";
import { sharedNode } from "./support/use-node.js";
import { versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload, type WorkloadPod } from "./support/workload.js";

/** Sidecars here present nothing: a proxy with --auth=pod-ip finds out by itself whose they are. */
describe("a proxy that knows callers by the address of their Pod", () => {
  const node = sharedNode();
  let proxy: ProxyByAddress;
  let own: string;
  let other: string;
  let workload: Workload;
  let stranger: Workload;
  let onHost: Workload;

  before(async function () {
    this.timeout(180_000);
    own = await node().cluster.createNamespace();
    other = await node().cluster.createNamespace();
    for (const namespace of [own, other])
      await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(1));
    proxy = await installProxyByAddress(node());
    // All start together.
    const { address } = proxy;
    const create = (namespace: string, name: string, edit?: (pod: WorkloadPod) => void): Promise<Workload> =>
      Workload.create(node(), {
        namespace,
        name,
        proxy: address,
        flags: `${own}/flags`,
        ...(edit === undefined ? {} : { edit }),
      });
    workload = await create(own, "workload");
    stranger = await create(other, "stranger");
    onHost = await create(own, "on-host", ({ spec }) => {
      spec["hostNetwork"] = true;
      spec["dnsPolicy"] = "ClusterFirstWithHostNet";
    });
  });

  after(async () => {
    await Promise.all([proxy, workload, stranger, onHost].map((each) => each.delete()));
  });

  it("gives a real Pod the FeatureFlags of its namespace, though its sidecar presents nothing", async () => {
    await workload.untilReady();
    await workload.untilAnswers(versionFlag, 1);
  });

  it("refuses a Pod of another namespace by the name of its ServiceAccount", async () => {
    await stranger.untilRunning();
    await eventually(
      async () => (await proxy.logs()).includes(`system:serviceaccount:${other}:default may not read`),
      "the refusal in the proxy's log",
      60_000,
    );
    expect((await stranger.ask("ofrep", versionFlag)).errorCode).to.equal("GENERAL");
    expect((await stranger.sidecar()).ready).to.equal(false);
  });

  it("takes a Pod with hostNetwork for nobody, even of its own namespace", async () => {
    await onHost.untilRunning();
    await onHost.untilLogs("is that of none");
    expect((await onHost.ask("ofrep", versionFlag)).errorCode).to.equal("GENERAL");
  });
});
