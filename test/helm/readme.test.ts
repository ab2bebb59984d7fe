import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect } from "chai";
import { applyType } from "../cluster/support/apply-type.js";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { TempDirectory } from "../support/temp-directory.js";
import { helm } from "./support/chart.js";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { operatorChart } from "./support/operator-chart.js";
import { documentedBlocks, startInstallation, runAsPrinted } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";

const operatorNamespace = "open-feature-operator-system";
const publishedAt = "https://open-feature.github.io/open-feature-operator";

interface Container {
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** What docs/start tells users to run, as printed, on real API servers. The line that waits for Pods is run on a real node (test/node/helm.test.ts). */
describe("the installations of the proxy in docs/start", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  let directory: TempDirectory;
  before(() => {
    directory = new TempDirectory();
  });
  after(() => directory.remove());

  describe("by Helm", () => {
    const cluster = freshCluster({ crds: false });

    it("installs the image that it names", async () => {
      const lines = startInstallation().chart.replace(/^kubectl .*rollout status.*\n/m, "");
      await runAsPrinted(lines, {
        kubeconfig: cluster().kubeconfig,
        home: directory.path,
      });
      expect(await containersOf("bunting-system", "bunting-proxy", cluster().kubeconfig)).to.have.property(
        "image",
        "registry.example/bunting-proxy:0.1.0",
      );
    });
  });

  describe("where the open-feature-operator runs", () => {
    const cluster = freshCluster({ crds: false });
    let repository: Server | undefined;
    after(() => repository?.close());

    it("changes the images of the operator that is installed, and nothing else", async function () {
      const chart = await operatorChart(directory.path);
      const certManager = goModuleSource(
        "github.com/cert-manager/cert-manager",
        "v1.21.2",
        "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
      );
      if (chart === undefined || certManager === undefined) return this.skip();
      const kubeconfig = cluster().kubeconfig;
      // The chart has objects of these types.
      const types = path.join(certManager, "deploy/crds");
      for (const file of readdirSync(types).filter((name) => name.startsWith("cert-manager.io_")))
        await applyType(cluster(), path.join(types, file));
      repository = await serveCharts(chart, directory.path);
      const address = `http://127.0.0.1:${(repository.address() as AddressInfo).port}`;

      // As its users have it: with a value of their own.
      const install = ["install", "open-feature-operator", chart, `--namespace=${operatorNamespace}`];
      const { code, stderr } = await helm(
        [...install, "--create-namespace", "--set=namespace.create=false,sidecarConfiguration.port=8113"],
        { kubeconfig },
      );
      expect(code, stderr).to.equal(0);
      const manager = async (): Promise<Container> =>
        containersOf(operatorNamespace, "open-feature-operator-controller-manager", kubeconfig);
      const before = await manager();
      const changedSince = async (then: Container): Promise<Readonly<Record<string, string>>> => {
        const known = variablesOf(then);
        const now = Object.entries(variablesOf(await manager()));
        return Object.fromEntries(now.filter(([name, value]) => known[name] !== value));
      };

      const [alone = ""] = documentedBlocks("docs/start/migrate.md", "flagd-proxy alone", "sh");
      // No controller makes Pods here.
      await runAsPrinted(alone.split(/^kubectl /m)[0]?.replaceAll(publishedAt, address) ?? "", {
        kubeconfig,
        home: directory.path,
      });
      expect(await changedSince(before)).to.deep.equal({
        FLAGD_PROXY_IMAGE: "registry.example/bunting-proxy",
        FLAGD_PROXY_TAG: "0.1.0",
      });

      const { operator } = startInstallation();
      expect(operator).to.contain(publishedAt);
      await runAsPrinted(operator.replaceAll(publishedAt, address), {
        kubeconfig,
        home: directory.path,
      });
      const after = await manager();
      expect(await changedSince(before)).to.deep.equal({
        FLAGD_IMAGE: "ghcr.io/bunting/bunting-agent",
        FLAGD_TAG: "0.1.0",
        FLAGD_PROXY_IMAGE: "ghcr.io/bunting/bunting-proxy",
        FLAGD_PROXY_TAG: "0.1.0",
        FLAGD_PROXY_REPLICA_COUNT: "2",
        SIDECAR_IMAGE: "ghcr.io/bunting/bunting-agent",
        SIDECAR_TAG: "0.1.0",
      });
      expect(variablesOf(after)).to.include({ SIDECAR_PORT: "8113" });
      expect(after.image).to.equal(before.image);
    });
  });

  async function containersOf(namespace: string, deployment: string, kubeconfig: string): Promise<Container> {
    const get = `kubectl --namespace=${namespace} get deployment ${deployment} --output=json`;
    const text = await runAsPrinted(get, { kubeconfig, home: directory.path });
    const { spec } = JSON.parse(text) as {
      spec: { template: { spec: { containers: [Container] } } };
    };
    return spec.template.spec.containers[0];
  }
});

function variablesOf({ env = [] }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(env.map(({ name, value = "" }) => [name, value]));
}

/** A chart repository with this chart, as a web server has it. */
async function serveCharts(chart: string, directory: string): Promise<Server> {
  const packages = path.join(directory, "packages");
  for (const args of [
    ["package", chart, "--destination", packages],
    ["repo", "index", packages],
  ]) {
    const { code, stderr } = await helm(args);
    if (code !== 0) throw new Error(stderr);
  }
  const files = new Map(
    readdirSync(packages).map((name) => [`/${name}`, readFileSync(path.join(packages, name))]),
  );
  const server = createServer(({ url = "" }, response) => {
    const file = files.get(url);
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
