/**
 * `npm run fuzz -- [--seconds 600] [--seed 7] [--replay FILE]`: mutated bytes, messages and documents for a real proxy and a real agent
 * (test/abuse/fuzz). What it finds goes into a file, which `--replay` performs again.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fuzz, replay, shrink, type FuzzFinding } from "../test/abuse/fuzz/fuzz.js";
import { parseCases } from "../test/abuse/fuzz/fuzz-case.js";
import { keepFinding } from "../test/abuse/fuzz/keep-finding.js";

const { values } = parsedArguments();

if (values.replay !== undefined) {
  const found = await replay(parseCases(readFileSync(values.replay, "utf8")));
  console.log(found ?? "nothing was found");
  process.exitCode = found === undefined ? 0 : 1;
} else {
  const seed = Number(values.seed);
  console.log(`bunting: fuzzing for ${values.seconds} s with --seed ${seed}`);
  const { cases, finding } = await fuzz({ seed, seconds: Number(values.seconds) });
  console.log(`bunting: ${cases} cases`);
  if (finding !== undefined) await report(seed, finding);
}

async function report(seed: number, { reason, cases }: FuzzFinding): Promise<void> {
  process.exitCode = 1;
  console.log(`bunting: found: ${reason}`);
  // Kept at once: the search below takes minutes.
  console.log(keepFinding(seed, cases));
  // No single case is a leak.
  if (reason.startsWith("a leak")) return;
  const onTry = (left: number): void =>
    void process.stdout.write(`\rbunting: looking for the case, ${left} left … `);
  console.log(`\n${keepFinding(seed, await shrink(cases, onTry))}`);
}

function parsedArguments() {
  try {
    return parseArgs({
      options: {
        seconds: { type: "string", default: "60" },
        seed: { type: "string", default: String(Math.floor(Date.now() / 1000)) },
        replay: { type: "string" },
      },
    });
  } catch (error) {
    console.error(`bunting: ${(error as Error).message}; there are --seconds N, --seed N and --replay FILE`);
    process.exit(2);
  }
}
