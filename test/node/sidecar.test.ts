import { expect } from "chai";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { installedProxy, proxyAddress, proxyNamespace, proxyPods, untilRolledOut } from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

describe("a Pod with the sidecar of the stock operator", () => {
  const node = sharedNode();
  installedProxy(node);
  let namespace: string;
  let workload: Workload;
  let version = 1;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    workload = await Workload.start(node(), {
      namespace,
      name: "workload",
      proxy: proxyAddress,
      flags: `${namespace}/flags`,
    });
  });

  async function edit(): Promise<number> {
    await editVersion(node().cluster, namespace, "flags", ++version);
    return version;
  }

  async function put(flagSpec: unknown): Promise<void> {
    const path = featureFlagPath(namespace, "flags");
    const { metadata, ...flag } = await node().cluster.api.get(path);
    const { name, resourceVersion } = metadata;
    await node().cluster.api.replace(path, {
      ...flag,
      metadata: { name, namespace, resourceVersion },
      spec: { flagSpec },
    });
  }

  it("answers its application over OFREP, and over gRPC through the OpenFeature provider", async () => {
    expect(await workload.ask("ofrep", versionFlag)).to.deep.equal({ value: version });
    expect(await workload.ask("grpc", versionFlag)).to.deep.equal({ value: version });
  });

  it("answers an edit of the FeatureFlag", async () => {
    await workload.untilAnswers(versionFlag, await edit());
  });

  it("serves on when all proxies are killed, and catches up with what was edited meanwhile", async () => {
    await workload.follow(versionFlag);
    const before = await proxyPods(node());
    await node().kubectl([
      ...["-n", proxyNamespace, "delete", "pods", ...before],
      ...["--grace-period=0", "--force", "--wait=false"],
    ]);
    await workload.untilAnswers(versionFlag, await edit());
    await untilRolledOut(node());
    expect(await proxyPods(node())).to.not.have.any.members(before);
    const { failures, values, asked } = await workload.followed();
    expect(failures).to.deep.equal([]);
    expect(values).to.deep.equal([version - 1, version]);
    expect(asked).to.be.greaterThan(10);
  });

  it("serves on while the node's kubelet is restarted, in the same container", async () => {
    const before = await workload.sidecar();
    await workload.follow(versionFlag);
    await node().restartKubelet();
    await workload.untilAnswers(versionFlag, await edit());
    await workload.untilReady();
    expect((await workload.followed()).failures).to.deep.equal([]);
    const after = await workload.sidecar();
    expect(after.containerID).to.equal(before.containerID);
    expect(after.restartCount).to.equal(0);
  });

  it("refuses a document that is too large for its limit, serves the one before, and takes the next", async () => {
    // Less than half a megabyte of text, but some 10 MB of objects.
    const list = Array.from({ length: 150_000 }, () => ({}));
    const large = { state: "ENABLED", variants: { list }, defaultVariant: "list" };
    const known = version;
    await put(versionSpec(++version, { large }));
    await workload.untilLogs("DOCUMENT_TOO_LARGE");
    expect(await workload.ask("ofrep", versionFlag)).to.deep.equal({ value: known });
    await put(versionSpec(++version));
    await workload.untilAnswers(versionFlag, version);
    expect((await workload.sidecar()).restartCount).to.equal(0);
  });
});
