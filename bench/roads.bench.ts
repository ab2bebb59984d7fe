import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { encodeDocument } from "@bunting/protocol";
import { makeFlagSet } from "./fixtures/flag-set.js";
import type { RequestLoadInput } from "./load/request-load.child.js";
import { answersPerCpuSecond, connectLoad, ofrepLoad, startServer } from "./serve.bench.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { agentBinary } from "./support/binaries.js";
import { bundle } from "./support/bundle.js";
import { bytesText, digits, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { startAgent } from "./support/start-agent.js";
import { median, spread } from "./support/statistics.js";

export const roadsCase: BenchCase = {
  name: "roads",
  method:
    "The shipped agent answers single flags over OFREP by both ways through its code: read whole by its own reader, and by node's parser and server, on connections whose first request is one that the reader leaves to them (all flags), which stay there. " +
    "It also answers single flags over Connect, as JSON, which node's server hands to the same kind of listener as its own engine does over HTTP/2: by the seam that a reader of HTTP/1.1 of its own would have. Beside them a server on node:http that answers " +
    "each POST with a constant, under the same V8 flags. What counts is the processor time that the server's process used for an answer, all its threads included, and the ratio of two of them in the same round. They take turns, and the order is reversed in every other round.",
  run: runRoads,
};

const roads = [
  "hello of node:http",
  "OFREP, whole",
  "OFREP, node's server",
  "Connect, node's server",
  "Connect, HTTP/2",
] as const;
type Road = (typeof roads)[number];
type Rates = Readonly<Record<Road, number>>;

async function runRoads({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const flags = countParameter(parameters, "flags", isQuick ? 100 : 1_000);
  const rounds = countParameter(parameters, "rounds", isQuick ? 1 : 9);
  const windowMs = isQuick ? 200 : countParameter(parameters, "window-ms", 2_000);
  const flagSet = makeFlagSet(flags);
  const document = encodeDocument(flagSet.document);
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  const processes: { stop(): Promise<void> }[] = [];
  try {
    const file = path.join(folder, "flags.json");
    writeFileSync(file, document);
    const agent = await startAgent(["--uri", `file:${file}`], cores.measured);
    processes.push(agent.process);
    await agent.untilReady();
    const hello = await startServer("hello", cores.measured, agentBinary());
    processes.push(hello.process);
    const whole = ofrepLoad(agent.ofrepPort, flagSet);
    const connect = connectLoad(agent.grpcPort, flagSet);
    const { pid } = agent.process;
    const asked: Readonly<Record<Road, { readonly pid: number; readonly input: RequestLoadInput }>> = {
      "hello of node:http": { pid: hello.process.pid, input: ofrepLoad(hello.port, flagSet) },
      "OFREP, whole": { pid, input: whole },
      "OFREP, node's server": { pid, input: { ...whole, firstPath: "/ofrep/v1/evaluate/flags" } },
      "Connect, node's server": { pid, input: connect },
      "Connect, HTTP/2": { pid, input: { ...connect, protocol: "http2" } },
    };
    const script = await bundle("load/request-load.child.ts", "proxy");
    const samples: Rates[] = [];
    for (let round = -1; round < rounds; round++) {
      const rates: Partial<Record<Road, number>> = {};
      for (const road of round % 2 === 0 ? roads : roads.toReversed())
        rates[road] = await answersPerCpuSecond(asked[road], script, cores, windowMs);
      // The first round only warms up.
      if (round >= 0) samples.push(rates as Rates);
      const texts = roads.map((road) => `${road} ${digits(rates[road] ?? NaN)}`);
      progress(`round ${round + 1} of ${rounds}: ${texts.join(", ")} per CPU second`);
    }
    return outcome(samples, [
      `${flags.toLocaleString("en")} flags (${bytesText(document.length)})`,
      `${samples.length} rounds`,
      cores.description,
    ]);
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function outcome(samples: readonly Rates[], setup: readonly string[]): CaseOutcome {
  const rates = (road: Road): number[] => samples.map((each) => each[road]);
  const ratios = (road: Road): number[] => samples.map((each) => each[road] / each["hello of node:http"]);
  return {
    setup,
    tables: [
      {
        title: "Answers",
        columns: [
          "",
          "per second of processor time: median (min–max)",
          "in relation to the hello: median (min–max)",
        ],
        rows: roads.map((road) => [road, range(spread(rates(road))), range(spread(ratios(road)))]),
      },
    ],
    targets: [
      {
        what: "OFREP, whole: processor time of an answer, in relation to the hello's: median",
        limit: 1 / 0.95,
        measured: 1 / median(ratios("OFREP, whole")),
        unit: "×",
      },
    ],
    warnings: [],
    invalid: [],
    samples,
  };
}
