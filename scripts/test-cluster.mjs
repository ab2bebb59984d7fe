// Runs the tests on a real API server (test/cluster), after building one if need be; arguments go to mocha
// (`npm run test:cluster -- --grep CRD`). Without Go it says so, and they count as skipped.
import { buildMachinery } from "./cluster-machinery.mjs";
import { addToTotal, runMocha } from "./run-mocha.mjs";

const machinery = await buildMachinery();
if (machinery.missing !== undefined) {
  console.log(`bunting: tests on a real API server are skipped: ${machinery.missing}`);
  addToTotal({ passed: 0, failed: 0, skipped: 1 });
} else {
  const args = process.argv.slice(2);
  const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : ["test/cluster/**/*.test.ts"];
  process.exitCode = await runMocha(["--timeout", "60000", ...args, ...specs], {
    BUNTING_CLUSTER_BIN: machinery.directory,
  });
}
