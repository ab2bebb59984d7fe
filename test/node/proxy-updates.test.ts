import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import {
  installedProxy,
  proxyAddress,
  proxyNamespace,
  readyProxies,
  untilRolledOut,
} from "./support/proxy.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

const deployment = ["-n", proxyNamespace, "deployment/bunting-proxy"];
const names = ["one", "two", "three"];

describe("the proxy's Deployment", function () {
  this.timeout(180_000);
  const node = sharedNode();
  installedProxy(node);
  let namespace: string;
  let workloads: readonly Workload[];
  let version = 1;

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
    workloads = await Promise.all(
      names.map((name) =>
        Workload.start(node(), { namespace, name, proxy: proxyAddress, flags: `${namespace}/flags` }),
      ),
    );
  });

  after(async () => {
    await Promise.all(workloads.map((workload) => workload.delete()));
  });

  /** Edits twice a second while something is done to the proxies; then all agents must have the last edit, and have failed no evaluation. */
  async function editingDuring(work: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    for (const workload of workloads) {
      await workload.untilAnswers(versionFlag, version);
      await workload.follow(versionFlag);
    }
    const editing = editUntil(over.signal);
    try {
      await work();
    } finally {
      over.abort();
      await editing;
    }
    for (const workload of workloads) {
      await workload.untilAnswers(versionFlag, version);
      const { failures, values, asked } = await workload.followed();
      expect(failures, workload.name).to.deep.equal([]);
      expect(asked, workload.name).to.be.greaterThan(100);
      expect(values, "no agent goes back").to.deep.equal([...values].sort((a, b) => Number(a) - Number(b)));
      expect((await workload.sidecar()).restartCount).to.equal(0);
    }
  }

  async function editUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await editVersion(node().cluster, namespace, "flags", ++version);
      await delay(500);
    }
  }

  it("is updated without a failed evaluation and without an agent that stays behind", async () => {
    await editingDuring(async () => {
      await node().kubectl(["set", "image", ...deployment, "proxy=bunting.test/proxy:2"]);
      await untilRolledOut(node());
      expect(await readyProxies(node())).to.equal(2);
    });
  });

  it("keeps one proxy while its node is drained, as its PodDisruptionBudget says, and agents go there", async () => {
    const selector = "--pod-selector=app.kubernetes.io/name=bunting-proxy";
    await editingDuring(async () => {
      const drain = ["drain", "node", "--delete-emptydir-data", selector, "--timeout=8s"];
      const { code, stderr } = await node().cluster.tryKubectl(drain);
      expect(code).to.equal(1);
      expect(stderr).to.include("would violate the pod's disruption budget");
      expect(await readyProxies(node())).to.equal(1);
      await node().kubectl(["uncordon", "node"]);
      await untilRolledOut(node());
      expect(await readyProxies(node())).to.equal(2);
    });
  });
});
