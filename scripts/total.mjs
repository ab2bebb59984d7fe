// Prints the sum of what several test runs added to the file named by BUNTING_TEST_COUNTS (see run-mocha.mjs).
import { readFileSync } from "node:fs";
import { lineOf } from "./run-mocha.mjs";

const total = { passed: 0, failed: 0, skipped: 0 };
for (const line of readFileSync(process.env.BUNTING_TEST_COUNTS, "utf8").split("\n").filter(Boolean)) {
  for (const [word, count] of Object.entries(JSON.parse(line))) total[word] += count;
}
console.log(lineOf(total));
