import type { EvaluateHandlers, EvaluateSamples } from "./measured/evaluate.child.js";
import type { BenchCase, CaseOutcome, RunOptions, Target } from "./support/bench-case.js";
import { agentSettings } from "../scripts/images/image-entrypoint.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { percent, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { median, spread } from "./support/statistics.js";

/** The kinds of flags of the fixture that are measured, and their rules. */
const rules = [
  { kind: "static", name: "static", what: "no targeting", limit: 100 },
  {
    kind: "attribute",
    name: "targeting",
    what: "`if` of one condition: `in`, `ends_with`, `==`, `$ref`, or two with `and`",
    limit: 300,
  },
  {
    kind: "split",
    name: "4-way fractional",
    what: "`fractional` of four variants by the targeting key",
    limit: 500,
  },
  { kind: "version", name: "version", what: "`if` of a `sem_ver`", limit: undefined },
  {
    kind: "layered",
    name: "layered",
    what: "`$ref`, then `in`, then `fractional` by flag key and e-mail address",
    limit: undefined,
  },
] as const;

export const evaluateCase: BenchCase = {
  name: "evaluate",
  method:
    "The agent's evaluator, compiled as the shipped bundle is and under the V8 flags of the image's entrypoint, evaluates 1,000 flags in its own process, without any protocol. " +
    "The kinds take turns: all flags of a kind are evaluated in a row, with 1,024 different contexts, so that neither a result nor a rule repeats directly. " +
    "A sample is the mean of 100,000 evaluations; there are 31 samples, after 1,000,000 evaluations of all kinds as warm-up.",
  run: runEvaluate,
};

async function runEvaluate({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const flags = countParameter(parameters, "flags", isQuick ? 100 : 1_000);
  const rounds = countParameter(parameters, "rounds", isQuick ? 3 : 31);
  const evaluations = isQuick ? 1_000 : 100_000;
  const { nodeFlags, environment } = agentSettings();
  const script = await bundle("measured/evaluate.child.ts", "agent");
  const child = new ChildProcess<EvaluateHandlers>({
    name: "evaluate",
    script,
    nodeFlags,
    environment,
    core: cores.measured,
  });
  const samples: EvaluateSamples[] = [];
  try {
    await child.call("load", { flags });
    const kinds = rules.map(({ kind }) => kind);
    await child.call("warmUp", { kinds, evaluations: evaluations * 10 });
    for (const { kind, name } of rules) {
      samples.push(await child.call("measure", { kind, rounds, evaluations }));
      progress(`${name}: ${range(spread(samples.at(-1)?.nanoseconds ?? []))} ns`);
    }
  } finally {
    await child.stop();
  }
  return {
    setup: [`${flags.toLocaleString("en")} flags`, `V8 flags \`${nodeFlags.join(" ")}\``, cores.description],
    tables: [
      {
        title: "One evaluation",
        columns: ["flag", "rule", "ns: median (min–max)", "time waiting for the core"],
        rows: rules.map(({ name, what }, index) => [
          name,
          what,
          range(spread(samples[index]?.nanoseconds ?? [])),
          percent(samples[index]?.waitShare ?? NaN),
        ]),
      },
    ],
    targets: rules.flatMap(({ name, limit }, index): Target[] => {
      const measured = median(samples[index]?.nanoseconds ?? []);
      return limit === undefined ? [] : [{ what: `${name}: median`, limit, measured, unit: "ns" }];
    }),
    warnings: [],
    invalid: [],
    samples: rules.map(({ kind }, index) => ({ kind, ...samples[index] })),
  };
}
