import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { installedProxy, proxyAddress } from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

describe("the image of a running sidecar", () => {
  const node = sharedNode();
  installedProxy(node);

  it("is replaced in place: the application runs on, and its sidecar has the newest flags", async () => {
    const namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(1));
    const options = { namespace, name: "workload", proxy: proxyAddress, flags: `${namespace}/flags` };
    const workload = await Workload.start(node(), options);
    await workload.untilAnswers(versionFlag, 1);
    const before = await workload.sidecar();
    await node().kubectl(["-n", namespace, "set", "image", "pod/workload", "flagd=bunting.test/agent:2"]);
    await editVersion(node().cluster, namespace, "flags", 2);
    const isReplaced = async (): Promise<boolean> => {
      const { containerID, imageID, state } = await workload.sidecar();
      return containerID !== before.containerID && imageID !== before.imageID && "running" in state;
    };
    await eventually(isReplaced, "the sidecar to run the other image", 60_000);
    await workload.untilAnswers(versionFlag, 2);
    await workload.untilReady();
    const { containerStatuses = [] } = await workload.status();
    expect(containerStatuses.map(({ restartCount }) => restartCount)).to.deep.equal([0]);
    const { restartCount, lastState } = await workload.sidecar();
    expect(restartCount).to.equal(1);
    expect(lastState["terminated"]?.exitCode, "how the sidecar took SIGTERM").to.equal(0);
    await workload.delete();
  });
});
