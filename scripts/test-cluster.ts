/**
 * `npm run test:cluster`: runs test/cluster on a real API server, which it builds first if necessary. Arguments go to mocha
 * (`npm run test:cluster -- --grep CRD`). Without Go it says so, and the tests count as skipped.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { recordCounts } from "./test-counts.js";
import { runGroups } from "./test-groups.js";

const machinery = await buildMachinery();
if ("missing" in machinery) {
  console.log(`bunting: tests on a real API server are skipped: ${machinery.missing}`);
  recordCounts({ passed: 0, failed: 0, skipped: 1 });
} else {
  const args = process.argv.slice(2);
  const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : ["test/cluster/**/*.test.ts"];
  // Each group starts API servers of its own; the files about watches take more than half of the time.
  const groups =
    args.length > 0
      ? [[...args, ...specs]]
      : [["test/cluster/watch*.test.ts"], ["test/cluster/!(watch*).test.ts"]];
  process.exitCode = await runGroups(groups, { environment: { BUNTING_CLUSTER_BIN: machinery.directory } });
}
