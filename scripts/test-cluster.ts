/**
 * `npm run test:cluster`: runs test/cluster on a real API server, which it builds first if necessary. Arguments are files, and mocha's options
 * (`npm run test:cluster -- --grep CRD`). Without Go it says so, and the tests count as skipped.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { filesOfScale } from "./night-files.js";
import { skipTests } from "./skip-tests.js";
import { testFilesBelow } from "./test-files.js";
import { runGroups } from "./test-groups.js";
import { packed } from "./test-specs.js";

/** Each starts API servers of its own, and mostly waits. With four the gate is three minutes shorter on a machine with warm caches; on a cold one, tests wait in vain. */
const mostGroups = 3;

const args = process.argv.slice(2);
const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : testFilesBelow("test/cluster");
const machinery = await buildMachinery();
if ("missing" in machinery) {
  process.exitCode = await skipTests("tests on a real API server", "go", machinery.missing, [
    ...args,
    ...specs,
  ]);
} else {
  const groups = args.length > 0 ? [[...args, ...specs]] : packed(filesOfScale(specs), mostGroups);
  process.exitCode = await runGroups(groups, { environment: { BUNTING_CLUSTER_BIN: machinery.directory } });
}
