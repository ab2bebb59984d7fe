import { chmodSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { featureFlagPath } from "../cluster/support/cluster.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { TempDirectory } from "../support/temp-directory.js";
import { documentedBlocks, runAsPrinted } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";

const forPods = /^kubectl .*(?:rollout status|logs) .*\n/gm;

interface Flags {
  readonly spec: {
    readonly flagSpec: { readonly flags: Record<string, { readonly defaultVariant: string }> };
  };
}

interface PodTemplate {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { image: string }[] } };
  };
}

/**
 * What docs/start tells users to run, as printed, on real API servers without nodes: what waits for Pods, or reads their logs, is left out.
 * test/node/operator.test.ts brings flags to Pods by the same operator.
 */
describe("the first steps in a cluster", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  let directory: TempDirectory;
  before(() => {
    directory = new TempDirectory();
  });
  after(() => directory.remove());

  const blocksOf = (page: string, section: string): string =>
    documentedBlocks(`docs/start/${page}`, section, "sh").join("").replaceAll(forPods, "");

  describe("with the operator", () => {
    const cluster = freshCluster({ crds: false });
    const variant = async (): Promise<string | undefined> => {
      const flags = (await cluster().api.get(featureFlagPath("shop", "shop"))) as unknown as Flags;
      return flags.spec.flagSpec.flags["new-welcome"]?.defaultVariant;
    };
    const follow = (lines: string): Promise<string> =>
      runAsPrinted(lines, { kubeconfig: cluster().kubeconfig, home: directory.path });

    it("install it, give an application flags, and flip one", async () => {
      await follow(blocksOf("cluster.md", "Install the operator"));
      await follow(blocksOf("cluster.md", "Give an application flags"));
      expect(await variant()).to.equal("off");
      const shop = "/apis/apps/v1/namespaces/shop/deployments/shop";
      const { spec } = (await cluster().api.get(shop)) as unknown as PodTemplate;
      expect(spec.template.spec.containers).to.have.length(1);
      const flip = blocksOf("cluster.md", "Flip the flag");
      expect(flip).to.contain("patch featureflag");
      await follow(flip);
      expect(await variant()).to.equal("on");
    });
  });

  describe("without an operator", () => {
    const cluster = freshCluster({ crds: false });

    it("install the proxy, give an application an agent, and flip a flag", async () => {
      for (const section of ["Install the proxy", "Give an application an agent", "Flip the flag"]) {
        const lines = blocksOf("without-operator.md", section);
        expect(lines, section).not.to.equal("");
        await runAsPrinted(lines, {
          kubeconfig: cluster().kubeconfig,
          home: directory.path,
        });
      }
      const { spec } = (await cluster().api.get(featureFlagPath("shop", "checkout"))) as unknown as Flags;
      expect(spec.flagSpec.flags["one-click"]?.defaultVariant).to.equal("off");
    });
  });

  describe("in kind", () => {
    const cluster = freshCluster({ crds: false });

    it("are one script, which loads each image that it names later", async () => {
      const log = directory.file("log");
      for (const name of ["kind", "docker"]) standIn(name, `echo ${name} "$@" >> '${log}'`);
      const kubectl = path.join(process.env["BUNTING_CLUSTER_BIN"] ?? "", "kubectl");
      standIn("kubectl", `case "$*" in *"rollout status"*) exit 0 ;; esac; exec '${kubectl}' "$@"`);
      await runAsPrinted("examples/kind/up.sh", {
        kubeconfig: cluster().kubeconfig,
        home: directory.path,
        programs: [directory.path],
      });
      const done = readFileSync(log, "utf8");
      expect(done).to.match(/^kind create cluster --name bunting\n/);
      const deployment = "/apis/apps/v1/namespaces/bunting-system/deployments/bunting-operator";
      const { spec } = (await cluster().api.get(deployment)) as unknown as PodTemplate;
      const text = JSON.stringify(spec.template.spec);
      for (const name of ["agent", "proxy", "operator"]) {
        expect(done).to.contain(
          `--file deploy/docker/${name}.Dockerfile --tag bunting/bunting-${name}:0.1.0 .`,
        );
        expect(done).to.contain(`kind load docker-image --name bunting bunting/bunting-${name}:0.1.0\n`);
        expect(text).to.contain(`docker.io/bunting/bunting-${name}`);
      }
      expect(spec.template.spec.containers[0]?.image).to.equal("docker.io/bunting/bunting-operator:0.1.0");
      const flags = await cluster().api.get(featureFlagPath("shop", "shop"));
      expect(flags).to.have.nested.property("metadata.name", "shop");
    });
  });

  function standIn(name: string, script: string): void {
    directory.replace(name, `#!/bin/sh\n${script}\n`);
    chmodSync(directory.file(name), 0o755);
  }
});
