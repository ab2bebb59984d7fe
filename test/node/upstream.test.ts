import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { operatorChartFolder } from "../helm/support/chart.js";
import { runTool, skipWithout } from "../helm/support/tool.js";
import { environment } from "./support/environment.js";
import { installOperator, uninstallOperator, untilSourcesAreAwaited } from "./support/operator.js";
import { upstreamSuite } from "./support/upstream-suite.js";
import { sharedNode } from "./support/use-node.js";

interface Report {
  readonly tests: readonly { readonly basePath: string; readonly status: string }[];
}

/**
 * The suite by which the open-feature-operator tests itself, unchanged, against ours as it takes its place. The images of the application are
 * Debian's programs under the names that the suite wants.
 */
describe("the suite of the open-feature-operator", function () {
  this.timeout(800_000);
  skipWithout("BUNTING_HELM");
  const suite = upstreamSuite();
  const node = sharedNode();
  let output: string;
  let report: Report;

  before(async function () {
    if (suite === undefined) return this.skip();
    const [flagd = ""] = suite.images.filter((image) => image.includes("/flagd:"));
    const [name = "", tag = ""] = flagd.split(/:(?=[^:]*$)/);
    await installOperator(
      node(),
      `--values=${path.join(operatorChartFolder, "values-takeover.yaml")}`,
      ...["sidecar", "flagd"].flatMap((each) => [
        `--set=options.${each}-image=${name}`,
        `--set-string=options.${each}-tag=${tag}`,
      ]),
      // Nothing that a test of it has made goes before the last one has ended, and a node of two cores is small for 200m each.
      "--set-string=options.sidecar-cpu-request=20m",
    );
    await untilSourcesAreAwaited(node(), await node().cluster.createNamespace());
    ({ output, report } = await runChainsaw(suite.root));
  });
  after(async () => {
    if (suite !== undefined) await uninstallOperator(node());
  });

  /** As the Makefile does: one run of all tests, with the configuration that lies beside it. */
  async function runChainsaw(root: string): Promise<{ readonly output: string; readonly report: Report }> {
    const folder = path.join(environment("BUNTING_NODE_DIRECTORY"), "chainsaw");
    mkdirSync(folder);
    const { stdout, stderr } = await runTool(
      environment("BUNTING_CHAINSAW"),
      [
        ...["test", "--test-dir=test/e2e/chainsaw", "--config=.chainsaw.yaml", "--no-color"],
        ...["--report-format=JSON", "--report-name=report", `--report-path=${folder}`],
      ],
      {
        cwd: root,
        env: {
          PATH: `${environment("BUNTING_CLUSTER_BIN")}:${process.env["PATH"]}`,
          HOME: folder,
          KUBECONFIG: node().cluster.kubeconfig,
        },
      },
    );
    const text = readFileSync(path.join(folder, "report.json"), "utf8");
    return { output: stdout + stderr, report: JSON.parse(text) as Report };
  }

  for (const name of suite?.tests ?? ["all of its tests"])
    it(`passes: ${name}`, () => {
      const test = report.tests.find(({ basePath }) => path.basename(basePath) === name);
      expect(test, output).to.have.property("status", "passed");
    });
});
