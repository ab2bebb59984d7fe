import { exitIfMissing, refusalOf, type Part } from "./required-parts.js";
import { runMocha } from "./run-mocha.js";

/**
 * Where a part is missing: says so, and counts all tests of the files as skipped, each as one. mocha loads the files to count them, and runs
 * none. Ends this process with 1 instead if the part is required.
 *
 * @param what Such as "tests on a real API server".
 * @returns An exit code.
 */
export async function skipTests(
  what: string,
  part: Part,
  reason: string,
  files: readonly string[],
): Promise<number> {
  exitIfMissing(() => [refusalOf(part, reason)]);
  console.log(`bunting: ${what} are skipped: ${reason}`);
  const output: string[] = [];
  const code = await runMocha(["--dry-run", ...files], { onOutput: (text) => output.push(text) });
  // The last line is the sum; the rest are failures to load the files.
  console.log(code === 0 ? output.join("").trimEnd().split("\n").at(-1) : output.join(""));
  return code;
}
