/**
 * `npm run mutate -- [--since REF] [--minutes 20] [files]`: changes one operator, condition, return, or call at a time in the files that were
 * changed since REF (by default main), or in those named, and runs the tests beside them (`x.test.ts`, or those of the folder). It lists what no
 * test has noticed. Each is a missing test, dead code, or a change that makes no difference; a person has to say which, so it never fails.
 * Works in a copy of the sources.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { changedSince } from "./changed-files.js";
import { copySources } from "./copy-sources.js";
import { mutationsOf } from "./mutations.js";
import { testsBeside } from "./tests-beside.js";

const { values, positionals } = parseArgs({
  options: { since: { type: "string", default: "main" }, minutes: { type: "string", default: "20" } },
  allowPositionals: true,
});
const untilMs = Date.now() + Number(values.minutes) * 60_000;
const checkout = path.dirname(import.meta.dirname);
const mocha = realpathSync(path.join(checkout, "node_modules/mocha/lib/cli/cli.js"));
const files = (positionals.length > 0 ? positionals : changedSince(values.since)).filter(isProduct);
const copy = mkdtempSync(path.join(tmpdir(), "bunting-mutate-"));
const sum = { killed: 0, survived: 0, notTried: 0 };
try {
  copySources(copy);
  for (const file of files) mutate(file);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(
  `bunting: of the mutations of ${files.length} files, tests have noticed ${sum.killed}, and not noticed ${sum.survived}` +
    (sum.notTried > 0 ? `; ${sum.notTried} were not tried within ${values.minutes} minutes` : ""),
);

function mutate(file: string): void {
  const tests = testsBeside(file);
  if (tests.length === 0) {
    console.log(`bunting: there are no tests beside ${file}`);
    return;
  }
  const target = path.join(copy, file);
  const text = readFileSync(target, "utf8");
  const sinceMs = Date.now();
  // The first run has no limit but the tests' own.
  if (!passes(tests, 600_000)) {
    console.log(`bunting: the tests of ${file} fail without a mutation`);
    return;
  }
  const limitMs = 4 * (Date.now() - sinceMs) + 5_000;
  for (const { line, description, text: mutated } of mutationsOf(file, text)) {
    if (Date.now() > untilMs) {
      sum.notTried++;
      continue;
    }
    writeFileSync(target, mutated);
    if (passes(tests, limitMs)) {
      sum.survived++;
      console.log(`not noticed: ${file}:${line}: ${description}`);
    } else sum.killed++;
  }
  writeFileSync(target, text);
}

function passes(tests: readonly string[], timeout: number): boolean {
  const flags = ["--conditions=@bunting/source", "--import=tsx", mocha, "--bail", "--reporter=min"];
  // It must not add to what a gate counts.
  const env = { ...process.env, BUNTING_TEST_COUNTS: undefined, BUNTING_TEST_TIMES: undefined };
  return (
    spawnSync(process.execPath, [...flags, ...tests], {
      cwd: copy,
      env,
      timeout,
      killSignal: "SIGKILL",
      stdio: "ignore",
    }).status === 0
  );
}

function isProduct(file: string): boolean {
  return (
    /^(packages\/[^/]+\/src|scripts)\/.*\.ts$/.test(file) &&
    !/\.(test|fixture|child)\.ts$|\/gen\//.test(file) &&
    existsSync(path.join(checkout, file))
  );
}
