/**
 * `npm run test:images`: builds the images and runs test/images on them. Arguments go to mocha. Where images can't be built it says so, and
 * the tests count as skipped.
 */
import { missingForImages } from "./images/buildah.js";
import { runMocha } from "./run-mocha.js";
import { filesOfScale } from "./night-files.js";
import { skipTests } from "./skip-tests.js";
import { testFilesBelow } from "./test-files.js";

const args = process.argv.slice(2);
const specs = args.some((arg) => arg.endsWith(".test.ts")) ? [] : filesOfScale(testFilesBelow("test/images"));
const missing = missingForImages("runc", "skopeo");
process.exitCode =
  missing === undefined
    ? await runMocha([...args, ...specs])
    : await skipTests("tests of the images", "images", missing, [...args, ...specs]);
