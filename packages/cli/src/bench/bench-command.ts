import { parseAnySelector } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import { command, type CommandCall } from "../command.js";
import { readContext } from "../evaluate/read-context.js";
import { addressText, parseAddress, syncPort } from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import type { Io } from "../terminal/io.js";
import { grpcAsker, ofrepAsker, type Asker } from "./ask.js";
import { benchOptionTable } from "./bench-options.js";
import { runEvaluationLoad, type LoadResult } from "./evaluation-load.js";
import type { LatencySummary } from "./latencies.js";
import { runSubscriberLoad, type SubscriberResult } from "./subscriber-load.js";

export const benchCommand = command({
  name: "bench",
  usage: "bench [options]",
  describe:
    "Puts an agent under evaluations, or a proxy under subscribers, for a limited time, and shows how many it takes and how long they wait. The command takes processor time, too: run it on another machine than what it measures, or read its results as a lower bound. Loads that are given together run one after the other.",
  table: benchOptionTable,
  epilogue:
    "Exit code: 0 if all were answered, 1 if some were not, 2 if none were or the command line is wrong.",
  run,
});

type Options = CommandCall<typeof benchOptionTable>["options"];

/** A load, to be run. */
interface Load {
  readonly name: string;
  readonly run: () => Promise<Outcome>;
}

interface Outcome {
  readonly result: LoadResult | SubscriberResult;
  readonly answered: number;
  readonly failures: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly lines: readonly string[];
}

async function run({ options, words, io }: CommandCall<typeof benchOptionTable>): Promise<number> {
  if (words.length > 0) throw new CliError("USAGE_INVALID", "bench takes options only: see --help");
  const loads = await loadsOf(options, io);
  const results: Record<string, unknown> = {};
  let failures = 0;
  for (const { name, run: start } of loads) {
    const { result, answered, failures: failed, reasons, lines } = await start();
    io.progress("");
    results[name] = result;
    failures += failed;
    if (answered === 0 && !io.signal.aborted) {
      const [reason = "nothing was answered in time"] = Object.keys(reasons);
      throw new CliError("SERVER_UNREACHABLE", `${name}: nothing was answered: ${reason}`);
    }
    if (!options.json)
      for (const line of [io.colours.bold(name), ...lines.map((line) => `  ${line}`)]) io.print(line);
    if (io.signal.aborted) break;
  }
  if (options.json) io.print(JSON.stringify(results, null, 2));
  return failures === 0 ? 0 : 1;
}

async function loadsOf(options: Options, io: Io): Promise<readonly Load[]> {
  const { grpc, ofrep, proxy, topic, flag } = options;
  if (grpc === "" && ofrep === "" && proxy === "")
    throw new CliError(
      "USAGE_INVALID",
      "name what to put under load: --grpc or --ofrep of an agent, or --proxy",
    );
  if ((grpc !== "" || ofrep !== "") && flag === "")
    throw new CliError("USAGE_INVALID", "name the flag to evaluate with --flag");
  if (proxy !== "" && topic === "")
    throw new CliError("USAGE_INVALID", "name the FeatureFlag to subscribe to with --topic NAMESPACE/NAME");
  const context = await readContext(options.context, io);
  const loads: Load[] = [];
  const add = (name: string, open: () => Asker): void => {
    loads.push({ name, run: () => evaluate(name, open, options, io) });
  };
  if (grpc !== "") {
    const address = parseAddress(grpc, 8013);
    const name = `gRPC at ${addressText(address)}, ${flag}, ${options.callers} callers`;
    add(name, () => grpcAsker(serverAt(address, options), flag, options.type, context));
  }
  if (ofrep !== "") {
    const address = parseAddress(ofrep, 8016);
    const name = `OFREP at ${addressText(address)}, ${flag}, ${options.callers} callers`;
    add(name, () => ofrepAsker(serverAt(address, options), flag, context, options.callers));
  }
  if (proxy !== "") loads.push(subscriberLoad(options, io));
  return loads;
}

async function evaluate(name: string, open: () => Asker, options: Options, io: Io): Promise<Outcome> {
  const { callers, warmUp: warmUpMs, duration: durationMs } = options;
  const asker = open();
  const progress = (answers: number, elapsedMs: number): void => {
    io.progress(`${name}: ${elapsed(elapsedMs, warmUpMs + durationMs)}, ${answers} answers`);
  };
  const result = await runEvaluationLoad(asker, { callers, warmUpMs, durationMs, progress }, io.signal);
  asker.close();
  const { answers, answersPerSecond, seconds, errors, errorReasons, latencyMs } = result;
  const lines = [
    `${answersPerSecond} evaluations/s for ${seconds} s (${answers} in all)`,
    `latency ${latencyText(latencyMs)}`,
    ...failureLines("not answered", errorReasons),
  ];
  return { result, answered: answers, failures: errors, reasons: errorReasons, lines };
}

function subscriberLoad(options: Options, io: Io): Load {
  const { subscribers, duration: durationMs } = options;
  const server = serverAt(parseAddress(options.proxy, syncPort), options);
  const topic = parseAnySelector(options.topic);
  const connections = Math.min(options.connections, subscribers);
  const name = `${subscribers} subscribers of ${topic} at ${addressText(server.address)}, ${connections} connections`;
  const progress = (served: number, elapsedMs: number): void => {
    io.progress(`${name}: ${elapsed(elapsedMs, durationMs)}, ${served} have flags`);
  };
  const start = async (): Promise<Outcome> => {
    const plan = { subscribers, connections, durationMs, progress };
    const result = await runSubscriberLoad(server, topic, plan, io.signal);
    const { served, firstFlagsMs, updates, megabytes, lost, lostReasons } = result;
    const lines = [
      `${served} have the flags; first flags after ${latencyText(firstFlagsMs)}`,
      `${updates} updates, ${megabytes} MB in all`,
      ...failureLines("ended by the proxy", lostReasons),
    ];
    const failures = Math.max(lost, subscribers - served);
    return { result, answered: served, failures, reasons: lostReasons, lines };
  };
  return { name, run: start };
}

function elapsed(elapsedMs: number, wholeMs: number): string {
  return `${(Math.min(elapsedMs, wholeMs) / 1_000).toFixed(0)} of ${(wholeMs / 1_000).toFixed(0)} s`;
}

function latencyText({ p50, p90, p99, p999, max }: LatencySummary): string {
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, p99.9 ${p999} ms, max ${max} ms`;
}

function failureLines(what: string, reasons: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(reasons).map(([reason, count]) => `${count} ${what}: ${reason}`);
}
