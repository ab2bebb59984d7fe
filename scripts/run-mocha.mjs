// Runs mocha, shows what it prints, and ends with the line that CI reads: `N passed, N failed[, N skipped]`.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);

const summary = /^\s*\d+ passing \(/m;
/** mocha ends by itself when nothing is left open. A run that does not must fail, and not hang. */
const patienceMs = 30_000;

function giveUp(mocha) {
  console.error(
    `bunting: the tests are over, but something they left open keeps mocha from ending for ${patienceMs / 1000} s`,
  );
  killGroup(mocha, "SIGKILL");
}

function killGroup({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Resolves with the exit code. A run in which nothing passed has failed. */
export async function runMocha(args, environment = {}) {
  const mocha = spawn(process.execPath, [path.join(root, "node_modules/mocha/bin/mocha.js"), ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
    // A group of its own: mocha runs the tests in a child, and one signal has to reach both.
    detached: true,
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => killGroup(mocha, signal));
  let tail = "";
  let overdue;
  mocha.stdout.on("data", (chunk) => {
    process.stdout.write(chunk);
    tail = (tail + chunk).slice(-200_000);
    if (summary.test(tail)) overdue ??= setTimeout(() => giveUp(mocha), patienceMs);
  });
  const code = await new Promise((resolve) => mocha.once("close", resolve));
  clearTimeout(overdue);
  const count = (word) => Number(tail.match(new RegExp(`^\\s*(\\d+) ${word}`, "m"))?.[1] ?? 0);
  const counts = { passed: count("passing"), failed: count("failing"), skipped: count("pending") };
  console.log(lineOf(counts));
  addToTotal(counts);
  return counts.passed === 0 ? 1 : (code ?? 1);
}

export function lineOf({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Where several runs make up one result (.ci/run), BUNTING_TEST_COUNTS names the file that they all add to. */
export function addToTotal(counts) {
  const file = process.env.BUNTING_TEST_COUNTS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(counts)}\n`);
}
