import { expect } from "chai";
import { freshCluster } from "../cluster/support/use-cluster.js";
import { TempDirectory } from "../support/temp-directory.js";
import { documentedBlocks, runAsPrinted } from "./support/readme.js";
import { skipWithout } from "./support/tool.js";

describe("the commands of docs/operate/upgrade.md", function () {
  this.timeout(120_000);
  skipWithout("BUNTING_HELM", "BUNTING_CLUSTER_BIN");
  const cluster = freshCluster({ crds: false });
  let directory: TempDirectory;
  before(async () => {
    directory = new TempDirectory();
    await run("docs/operate/proxy.md", "With Helm");
  });
  after(() => directory.remove());

  async function run(page: string, section: string): Promise<void> {
    const [lines = "", more] = documentedBlocks(page, section, "sh");
    expect([lines, more]).to.deep.equal([lines, undefined]);
    expect(lines).to.contain("helm ");
    await runAsPrinted(lines, {
      kubeconfig: cluster().kubeconfig,
      home: directory.path,
    });
  }

  const image = (): Promise<string> =>
    cluster().kubectl([
      ...["-n", "bunting-system", "get", "deployment", "bunting-proxy"],
      ...["-o", "jsonpath={.spec.template.spec.containers[0].image}"],
    ]);

  it("replace the image and keep the other values, and put the one before back", async () => {
    await run("docs/operate/upgrade.md", "How");
    expect(await image()).to.equal("registry.example/bunting-proxy:0.2.0");
    await run("docs/operate/upgrade.md", "Roll back");
    expect(await image()).to.equal("registry.example/bunting-proxy:0.1.0");
  });
});
