/**
 * `npm run test:helm`: tests the chart, the alerts and the dashboards, with Helm, promtool and a real API server, which are built or fetched
 * first if necessary. Arguments go to mocha. Tests whose tool can't be had are skipped, after a sentence that says why.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { buildHelm } from "./helm-machinery.js";
import { findPromtool } from "./promtool.js";
import { exitIfMissing, refusalOf } from "./required-parts.js";
import { runMocha } from "./run-mocha.js";

// The API server first, which the tests of the cluster wait for, too.
const cluster = await buildMachinery();
const helm = await buildHelm();
const promtool = findPromtool();
exitIfMissing(() => [
  "missing" in cluster ? refusalOf("go", cluster.missing) : undefined,
  "missing" in promtool ? refusalOf("promtool", promtool.missing) : undefined,
]);
for (const [what, found] of Object.entries({ Helm: helm, "a real API server": cluster, promtool })) {
  if ("missing" in found) console.log(`bunting: tests with ${what} are skipped: ${found.missing}`);
}
const args = process.argv.slice(2);
const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : ["test/helm/**/*.test.ts"];
process.exitCode = await runMocha([...args, ...specs], {
  environment: {
    ...("directory" in helm ? { BUNTING_HELM: `${helm.directory}/helm` } : {}),
    ...("directory" in cluster ? { BUNTING_CLUSTER_BIN: cluster.directory } : {}),
    ...("binary" in promtool ? { BUNTING_PROMTOOL: promtool.binary } : {}),
  },
});
