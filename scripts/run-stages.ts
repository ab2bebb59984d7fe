/**
 * Runs the stages of the table on standard input (`scripts/stages.ts`), as .ci/run and .ci/nightly do. The output of each is printed whole, in
 * the order of the table; meanwhile a line a minute says what runs. Then come the minutes by stage, what failed, and the sum of all tests in the
 * line that CI reads: `N passed, N failed[, N skipped]`. Exits with 1 if anything failed.
 */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { conclude } from "./conclude.js";
import { parseStages, Stages, stageTable } from "./stages.js";
import { timesVariable } from "./recorded-times.js";

const directory = path.join(path.dirname(import.meta.dirname), "node_modules/.bunting");
const counts = path.join(directory, "test-counts");
const times = path.join(directory, "test-times");
for (const file of [counts, times]) rmSync(file, { force: true });
Object.assign(process.env, { BUNTING_TEST_COUNTS: counts, [timesVariable]: times });

const stages = new Stages(parseStages(readFileSync(0, "utf8")), path.join(directory, "stages"));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stages.kill(signal);
    console.error(`\nbunting: ended by ${signal}`);
    process.exit(1);
  });
}
// CI would end a gate that hangs without a word of what its stages have printed.
const { BUNTING_GATE_MINUTES: most } = process.env;
if (most !== undefined) {
  const reason = `the gate has taken longer than ${most} minutes (BUNTING_GATE_MINUTES)`;
  setTimeout(() => stages.abandon(reason), Number(most) * 60_000).unref();
}
const timer = setInterval(() => console.error(stages.progress()), 60_000);
const results = await stages.run(({ stage, output, code }) => {
  process.stdout.write(`\n== ${stage.name}${code === 0 ? "" : " (failed)"}: ${stage.command}\n${output}`);
});
clearInterval(timer);
console.log(`\n== all stages\n${stageTable(results).join("\n")}\n`);
const failed = results.filter(({ code }) => code !== 0).map(({ stage }) => stage.name.replace(/\/.*/, ""));
process.exitCode = conclude(counts, [...new Set(failed)]);
