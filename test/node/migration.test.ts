import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import type { ApiObject } from "../cluster/support/api-client.js";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { operatorChart } from "../helm/support/operator-chart.js";
import { documentedBlocks, runAsPrinted } from "../helm/support/readme.js";
import { skipWithout } from "../helm/support/tool.js";
import { eventually } from "../support/event-queue.js";
import { binaries } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { registryName } from "./support/addresses.js";
import { AskingDeployment } from "./support/asking-deployment.js";
import { owningTypes, stockNames, stockProxyImage, StockRelease } from "./support/stock-release.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionSpec } from "./support/version-flag.js";

const { namespace: home, deployment } = stockNames;
const kept = {
  operator: `/apis/apps/v1/namespaces/${home}/deployments/${deployment}`,
  proxy: `/apis/apps/v1/namespaces/${home}/deployments/flagd-proxy`,
  service: `/api/v1/namespaces/${home}/services/flagd-proxy-svc`,
  budget: `/apis/policy/v1/namespaces/${home}/poddisruptionbudgets/flagd-proxy-pdb`,
  namespace: `/api/v1/namespaces/${home}`,
};

interface ProxyDeployment extends ApiObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: [{ readonly image: string }] } };
  };
  readonly status: {
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
  };
}

/**
 * docs/operate/migrate.md, line by line, on the release and the objects that the open-feature-operator makes; what stands in for its manager says itself what that is.
 * The tests are steps, each on what the one before has left.
 */
describe("the way from the open-feature-operator, and back", function () {
  this.timeout(300_000);
  this.bail(true);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  let directory: TempDirectory | undefined;
  let stock: StockRelease | undefined;
  let asking: AskingDeployment | undefined;
  let shop: string;
  let uids: Readonly<Record<string, string>>;
  let version = 1;

  before(async function () {
    directory = new TempDirectory();
    const chart = await operatorChart(path.join(directory.path, "stock"));
    if (chart === undefined) return this.skip();
    stock = await StockRelease.install(node(), chart, directory.path);
    shop = await node().cluster.createNamespace();
    await eventually(
      () =>
        node()
          .cluster.putFeatureFlag(shop, "flags", versionSpec(version))
          .then(
            () => true,
            () => false,
          ),
      "a FeatureFlag is admitted",
    );
    await node().cluster.api.create(
      `/apis/core.openfeature.dev/v1beta1/namespaces/${shop}/featureflagsources`,
      {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name: "checkout", namespace: shop },
        spec: { sources: [{ source: `${shop}/flags`, provider: "flagd-proxy" }] },
      },
    );
    await untilProxyIs(stockProxyImage, 1);
    asking = await AskingDeployment.create(node(), shop, "checkout");
    for (const { metadata } of await asking.pods())
      expect(metadata.annotations).to.not.have.property("bunting.dev/injected");
    await asking.untilAll(version);
    uids = await uidsNow();
  });

  after(async () => {
    await asking?.stop();
    await stock?.remove();
    directory?.remove();
  });

  async function uidsNow(): Promise<Readonly<Record<string, string>>> {
    const paths = { ...kept, flags: featureFlagPath(shop, "flags") };
    const found = Object.entries(paths).map(async ([name, at]) => {
      const { metadata } = await node().cluster.api.get(at);
      expect(metadata, name).to.not.have.property("deletionTimestamp");
      return [name, metadata.uid] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  }

  async function untilProxyIs(image: string, replicas: number): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      const { status: found, text } = await node().cluster.api.request("GET", kept.proxy);
      if (found !== 200) return false;
      const { spec, status } = JSON.parse(text) as ProxyDeployment;
      const counts = [status.replicas, status.updatedReplicas, status.readyReplicas];
      return spec.template.spec.containers[0].image === image && counts.every((count) => count === replicas);
    };
    await eventually(isSo, `the proxy runs ${image} ${replicas} times`, 120_000);
  }

  /** Runs a section's commands. Not as printed: the registry, limits of time, and what Helm needs where other tests have installed the resource types. */
  async function follow(section: string): Promise<string> {
    const programs = path.join(directory?.path ?? "", "bin");
    mkdirSync(programs, { recursive: true });
    const bunting = `#!/bin/sh\nexec '${process.execPath}' '${binaries.cli}' "$@"\n`;
    writeFileSync(path.join(programs, "bunting"), bunting, { mode: 0o755 });
    const lines = documentedBlocks("docs/operate/migrate.md", section, "sh")
      .join("")
      .replaceAll("registry.example", registryName)
      .replaceAll("NAMESPACE", shop)
      .replaceAll("helm upgrade", `helm upgrade ${owningTypes.join(" ")}`)
      .replaceAll(/(rollout status .*)/g, "$1 --timeout=120s");
    expect(lines).to.not.equal("");
    return runAsPrinted(lines, {
      kubeconfig: node().cluster.kubeconfig,
      home: directory?.path ?? "",
      programs: [programs],
    });
  }

  async function edit(): Promise<void> {
    await editVersion(node().cluster, shop, "flags", ++version);
    await asking?.untilAll(version);
  }

  it("begins with a check that finds nothing in the way, and says how to go on", async () => {
    const told = await follow("Before");
    expect(told).to.contain("0 findings block the take-over");
    expect(told).to.contain("helm upgrade openfeature deploy/helm/bunting-operator --namespace default");
  });

  it("takes the release over: the proxy is the same object with another image, and what is edited arrives", async () => {
    await follow("Take over");
    await untilProxyIs(`${registryName}/bunting-proxy:0.1.0`, 2);
    expect(await uidsNow()).to.deep.equal(uids);
    const { metadata } = await node().cluster.api.get(kept.proxy);
    const managers = metadata["managedFields"] as readonly { readonly manager: string }[];
    expect(managers.map(({ manager }) => manager)).to.not.include("manager");
    await edit();
  });

  it("gives workloads its sidecar when they are restarted", async () => {
    await follow("Afterwards");
    await asking?.untilRolledOut();
    for (const each of (await asking?.pods()) ?? [])
      expect(each.metadata.annotations).to.have.property("bunting.dev/injected");
    await edit();
  });

  it("goes back: the other operator has its release and the proxy again, and all flags are there", async () => {
    expect(await follow("Before you go back")).to.contain("0 findings block the way back");
    await follow("Go back");
    await stock?.untilServed();
    await untilProxyIs(stockProxyImage, 1);
    expect(await uidsNow()).to.deep.equal(uids);
    await edit();
    expect(asking?.heard.length, "Pods of both operators were asked").to.equal(4);
    await asking?.expectNoFailure();
  });
});
