/**
 * `npm run test:images`: builds the images and runs test/images on them. Arguments go to mocha. Where images can't be built it says so, and
 * the tests count as skipped.
 */
import { missingForImages } from "./images/buildah.js";
import { runMocha } from "./run-mocha.js";
import { recordCounts } from "./test-counts.js";

const missing = missingForImages("runc");
if (missing === undefined) {
  const args = process.argv.slice(2);
  const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : ["test/images/**/*.test.ts"];
  process.exitCode = await runMocha([...args, ...specs]);
} else {
  console.log(`bunting: tests of the images are skipped: ${missing}`);
  recordCounts({ passed: 0, failed: 0, skipped: 1 });
}
