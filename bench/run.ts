import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { abuseCase } from "./abuse.bench.js";
import { agentIdentityCase } from "./agent-identity.bench.js";
import { agentMemoryCase } from "./agent-memory.bench.js";
import { clusterCase } from "./cluster.bench.js";
import { evaluateCase } from "./evaluate.bench.js";
import { extensionsCase } from "./extensions.bench.js";
import { fanOutStormCase } from "./fan-out-storm.bench.js";
import { fanOutCases } from "./fan-out.bench.js";
import { operatorCase } from "./operator.bench.js";
import { remoteCase } from "./remote.bench.js";
import { processesCase } from "./processes.bench.js";
import { renderDocs, resultFile } from "./render.js";
import { replicasCase } from "./replicas.bench.js";
import { roadsCase } from "./roads.bench.js";
import { serveCase } from "./serve.bench.js";
import { isMet, type BenchCase } from "./support/bench-case.js";
import { digits } from "./support/format.js";
import { describeMachine } from "./support/machine.js";
import { pinSelf, planCores } from "./support/processor.js";
import { tiersCase } from "./tiers.bench.js";
import { tlsStormCase } from "./tls-storm.bench.js";
import { tokensCase } from "./tokens.bench.js";
import { updateCase } from "./update.bench.js";

/**
 * `npm run bench -- [case …] [--quick] [--name=value …]`: runs the cases, keeps each result and renders docs/benchmarks.md. `--render`
 * only renders. A quick run proves that a case works and converges; its times mean nothing, so it keeps no result. Neither does a run
 * whose case was given other parameters than its usual ones, unless `--keep` is given, too.
 */

const cases: readonly BenchCase[] = [
  evaluateCase,
  updateCase,
  agentMemoryCase,
  agentIdentityCase,
  serveCase,
  roadsCase,
  ...fanOutCases,
  fanOutStormCase,
  tlsStormCase,
  processesCase,
  tokensCase,
  tiersCase,
  clusterCase,
  operatorCase,
  extensionsCase,
  replicasCase,
  remoteCase,
  abuseCase,
];

const args = process.argv.slice(2);
const bare = ["--quick", "--render", "--keep", "--help"];
const unknown = args.find((arg) => /^-[^=]*$/.test(arg) && !bare.includes(arg));
if (args.includes("--help") || unknown !== undefined) {
  const all = cases.map(({ name }) => name).join(", ");
  const usage = `usage: npm run bench -- [case …] [--quick | --keep] [--name=value …] | --render\ncases: ${all}`;
  if (unknown === undefined) console.log(usage);
  else console.error(`bench: there is no option "${unknown}"\n${usage}`);
  process.exit(unknown === undefined ? 0 : 2);
}
const names = args.filter((arg) => !arg.startsWith("--"));
const isQuick = args.includes("--quick");
const parameters = new Map(
  args
    .filter((arg) => /^--[^=]+=/.test(arg))
    .map((arg): [string, string] => [arg.slice(2, arg.indexOf("=")), arg.slice(arg.indexOf("=") + 1)]),
);
const isKept = !isQuick && (parameters.size === 0 || args.includes("--keep"));

for (const name of names) {
  if (!cases.some((each) => each.name === name)) {
    console.error(
      `bench: there is no case "${name}"; there are ${cases.map((each) => each.name).join(", ")}`,
    );
    process.exit(2);
  }
}
// Before this process is pinned, because afterwards it sees only one core.
const machine = describeMachine();
const cores = planCores();
if (!args.includes("--render")) {
  pinSelf(cores.load);
  for (const chosen of names.length === 0 ? cases : cases.filter(({ name }) => names.includes(name))) {
    try {
      await run(chosen);
    } catch (error) {
      // The other cases can still be measured; this one keeps its previous result.
      console.error(`${chosen.name}: failed:`, error);
      process.exitCode = 1;
    }
  }
}
if (args.includes("--render") || isKept) renderDocs(cases);

async function run(chosen: BenchCase): Promise<void> {
  const progress = (line: string): void => console.log(`${chosen.name}: ${line}`);
  progress("begins");
  const outcome = await chosen.run({ isQuick, parameters, cores, progress });
  for (const { title, columns, rows } of outcome.tables) {
    console.log(`\n${title}`);
    console.table(
      rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]]))),
    );
  }
  for (const warning of outcome.warnings) progress(`note: ${warning}`);
  for (const reason of outcome.invalid) progress(`does not count: ${reason}`);
  if (outcome.invalid.length > 0) process.exitCode = 1;
  if (isQuick) {
    if (outcome.invalid.length === 0) progress("ran and converged");
    return;
  }
  for (const target of outcome.targets) {
    const { what, limit, measured, unit } = target;
    progress(
      `${isMet(target) ? "met" : "MISSED"}: ${what}: ${digits(measured)} ${unit} (at most ${limit} ${unit})`,
    );
  }
  if (!isKept) return;
  const result = {
    case: chosen.name,
    date: new Date().toISOString(),
    machine,
    ...outcome,
  };
  mkdirSync(path.dirname(resultFile(chosen.name)), { recursive: true });
  writeFileSync(resultFile(chosen.name), `${JSON.stringify(result, null, 1)}\n`);
  progress(`kept in ${path.relative(process.cwd(), resultFile(chosen.name))}`);
}
