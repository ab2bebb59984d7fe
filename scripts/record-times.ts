/**
 * `npm run record-times`: takes over into test/durations.json what the last gate has measured on this machine, or what the runs have that
 * wrote to the file given as an argument. Tests are packed by it; commit it when files have become much slower or faster.
 */
import { existsSync } from "node:fs";
import {
  durationsFile,
  mergedDurations,
  readDurations,
  readTimes,
  writeDurations,
} from "./recorded-times.js";

const [file = "node_modules/.bunting/test-times"] = process.argv.slice(2);
if (existsSync(file)) {
  const measured = readTimes(file);
  writeDurations(mergedDurations(readDurations(), measured));
  console.log(`bunting: the times of ${measured.size} files are in ${durationsFile}`);
} else {
  console.error(`bunting: there are no times in ${file}: run .ci/run first, or 'npm test -- --record-times'`);
  process.exitCode = 1;
}
