/**
 * `npm run test:cluster`: runs test/cluster on a real API server, which it builds first if necessary. Arguments go to mocha
 * (`npm run test:cluster -- --grep CRD`). Without Go it says so, and the tests count as skipped.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { runMocha } from "./run-mocha.js";
import { recordCounts } from "./test-counts.js";

const machinery = await buildMachinery();
if ("missing" in machinery) {
  console.log(`bunting: tests on a real API server are skipped: ${machinery.missing}`);
  recordCounts({ passed: 0, failed: 0, skipped: 1 });
} else {
  const args = process.argv.slice(2);
  const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : ["test/cluster/**/*.test.ts"];
  process.exitCode = await runMocha(["--timeout", "60000", ...args, ...specs], {
    environment: { BUNTING_CLUSTER_BIN: machinery.directory },
  });
}
