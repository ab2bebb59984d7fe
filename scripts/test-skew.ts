/**
 * `npm run test:skew`: runs test/skew, where processes of the previous version work with those of this checkout, and take each other's place.
 * It builds the previous version first if necessary. Arguments are files, and mocha's options. Without the commit of the previous version it says
 * so, and the tests count as skipped.
 */
import { buildMachinery } from "./cluster-machinery.js";
import { previousVersion, type SkewPart } from "./previous-version.js";
import { skipTests } from "./skip-tests.js";
import { testFilesBelow } from "./test-files.js";
import { runGroups } from "./test-groups.js";

const operatorFolder = "test/skew/operator/";
const asked = process.argv.slice(2);
const args = asked.filter((arg) => !arg.endsWith(".test.ts"));
const files =
  asked.length > args.length ? asked.filter((arg) => !args.includes(arg)) : testFilesBelow("test/skew");

await run(
  "dataPlane",
  files.filter((file) => !file.startsWith(operatorFolder)),
);
await run(
  "operator",
  files.filter((file) => file.startsWith(operatorFolder)),
);

async function run(part: SkewPart, chosen: readonly string[]): Promise<void> {
  if (chosen.length === 0) return;
  const previous = await previousVersion(part);
  const machinery = part === "operator" ? await buildMachinery() : { directory: "" };
  const skip = (lacks: "previous" | "go", reason: string): Promise<number> =>
    skipTests("tests with the previous version", lacks, reason, [...args, ...chosen]);
  const environment = { BUNTING_PREVIOUS: "", BUNTING_CLUSTER_BIN: "" };
  let code: number;
  if ("missing" in previous) code = await skip("previous", previous.missing);
  else if ("missing" in machinery) code = await skip("go", machinery.missing);
  else {
    environment.BUNTING_PREVIOUS = previous.directory;
    environment.BUNTING_CLUSTER_BIN = machinery.directory;
    code = await runGroups([[...args, ...chosen]], { environment });
  }
  process.exitCode = Number(process.exitCode ?? 0) || code;
}
