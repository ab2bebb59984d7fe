import { imageEntrypoint } from "../scripts/images/image-entrypoint.js";
import type { TokenAlgorithm, TokensHandlers, TokenSample } from "./measured/tokens.child.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { digits, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { median, spread } from "./support/statistics.js";

const algorithms: readonly TokenAlgorithm[] = ["RS256", "ES256"];
type Samples = Record<TokenAlgorithm, TokenSample[]>;

export const tokensCase: BenchCase = {
  name: "tokens",
  method:
    "The proxy's verification of ServiceAccount tokens, compiled as it is shipped and under the V8 flags of the image's entrypoint, alone in a process: 64 callers present tokens that " +
    "all differ, as in a storm, and then the same tokens again. Beside it, `crypto.verify` verifies the signatures of the same tokens and does nothing else. What counts is the processor " +
    "time of the process, all its threads included. The kinds take turns, after two rounds to warm up.",
  run: runTokens,
};

async function runTokens({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const tokens = countParameter(parameters, "tokens", isQuick ? 200 : 5_000);
  const rounds = countParameter(parameters, "rounds", isQuick ? 1 : 7);
  const warmUpRounds = isQuick ? 0 : 2;
  const child = new ChildProcess<TokensHandlers>({
    name: "tokens",
    script: await bundle("measured/tokens.child.ts", "proxy"),
    ...imageEntrypoint("proxy.Dockerfile"),
    core: cores.measured,
  });
  const samples: Samples = { RS256: [], ES256: [] };
  try {
    for (let round = -warmUpRounds; round < rounds; round++)
      for (const algorithm of algorithms) {
        const sample = await child.call("measure", { algorithm, tokens });
        if (round < 0) continue;
        samples[algorithm].push(sample);
        progress(
          `${algorithm}: ${digits(sample.newUs)} µs, ${digits(sample.newUs / sample.bareUs)} × the bare signature`,
        );
      }
  } finally {
    await child.stop();
  }
  const ratios = (algorithm: TokenAlgorithm): number[] =>
    samples[algorithm].map(({ newUs, bareUs }) => newUs / bareUs);
  const perSecond = (algorithm: TokenAlgorithm, of: (sample: TokenSample) => number): number[] =>
    samples[algorithm].map((sample) => 1e6 / of(sample));
  return {
    setup: [`${tokens.toLocaleString("en")} tokens a round, ${rounds} rounds`, cores.description],
    tables: [
      {
        title: "Verifications per second of processor time: median (min–max)",
        columns: [
          "tokens",
          "`crypto.verify` alone",
          "new to the proxy",
          "time in relation to `crypto.verify`",
          "known to it",
        ],
        rows: algorithms.map((algorithm) => [
          algorithm,
          range(spread(perSecond(algorithm, ({ bareUs }) => bareUs))),
          range(spread(perSecond(algorithm, ({ newUs }) => newUs))),
          range(spread(ratios(algorithm))),
          range(spread(perSecond(algorithm, ({ knownUs }) => knownUs))),
        ]),
      },
    ],
    targets: [
      ...algorithms.map((algorithm) => ({
        what: `a new token, ${algorithm}: median of the processor time, so that 10,000 agents cost a proxy less than 5 s`,
        limit: 500,
        measured: median(samples[algorithm].map(({ newUs }) => newUs)),
        unit: "µs",
      })),
      ...algorithms.map((algorithm) => ({
        what: `a known token, ${algorithm}: median of the processor time`,
        limit: 10,
        measured: median(samples[algorithm].map(({ knownUs }) => knownUs)),
        unit: "µs",
      })),
    ],
    warnings: [],
    invalid: [],
    samples,
  };
}
