import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { encodeDocument, evaluationV1, type JsonObject } from "@bunting/protocol";
import { makeFlagSet, type FlagSet } from "./fixtures/flag-set.js";
import { Random } from "./fixtures/random.js";
import { randomContext } from "./fixtures/targeting-rules.js";
import type { RequestLoadHandlers, RequestLoadInput } from "./load/request-load.child.js";
import type { EchoServerHandlers } from "./servers/echo-server.child.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { agentSettings, type ImageEntrypoint } from "../scripts/images/image-entrypoint.js";
import { bundle } from "./support/bundle.js";
import { ChildProcess } from "./support/child-process.js";
import { bytesText, digits, range } from "./support/format.js";
import { startAgent } from "./support/start-agent.js";
import { countParameter } from "./support/parameters.js";
import { cpuTime, processMemory, resetPeakMemory, type CorePlan } from "./support/processor.js";
import { median, spread } from "./support/statistics.js";

export const serveCase: BenchCase = {
  name: "serve",
  method:
    "The shipped bundle of the agent, under the V8 flags of the image's entrypoint, with its flags from a file, answers one kind of request at a time; so do a unary echo of grpc-js that decodes nothing, and a server on " +
    "node:http that answers each POST with a constant, both under the same V8 flags, and both without any. All run on one core, and the client on another: 32 callers, of which each asks again as soon as it is answered, over one connection of HTTP/2 or 32 of HTTP/1.1. " +
    "The contenders take turns, and the order is reversed in every other round. What counts is the processor time that the server's process used for an answer, all its threads included, and the ratio of two of them in the same round. " +
    "The time to the first answer runs from the start of the process until a client that tries all the time has the answer to a request of OFREP. Before each of them, node is started to run nothing, under the same flags and on the same core.",
  run: runServe,
};

const contenders = [
  "gRPC",
  "echo of grpc-js",
  "echo of grpc-js, V8 as it is",
  "OFREP",
  "hello of node:http",
  "hello of node:http, V8 as it is",
  "OFREP bulk",
] as const;
type Contender = (typeof contenders)[number];

interface Round {
  /** Answers per second of the server's processor time. */
  readonly answersPerCpuSecond: Readonly<Record<Contender, number>>;
}

interface Start {
  readonly firstAnswerMs: number;
  /** For node to start and end with nothing to run, just before: it shows what else the machine does. */
  readonly nodeMs: number;
}

const concurrency = 32;
const contextCount = 256;

async function runServe({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const flags = countParameter(parameters, "flags", isQuick ? 100 : 1_000);
  const rounds = countParameter(parameters, "rounds", isQuick ? 1 : 5);
  const starts = countParameter(parameters, "starts", isQuick ? 1 : 15);
  const windowMs = isQuick ? 200 : 2_000;
  const flagSet = makeFlagSet(flags);
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  const processes: { stop(): Promise<void> }[] = [];
  try {
    const document = encodeDocument(flagSet.document);
    const file = path.join(folder, "flags.json");
    writeFileSync(file, document);
    const startsMs: Start[] = [];
    // The first ones make the code cache, and warm up what asks for the answers.
    for (let start = -3; start < starts; start++) {
      const nodeMs = timeOfNode(cores.measured);
      const firstAnswerMs = await timeToFirstAnswer(file, flagSet, cores.measured);
      if (start >= 0) startsMs.push({ nodeMs, firstAnswerMs });
    }
    const startTexts = startsMs.map((each) => `${digits(each.firstAnswerMs)} (node ${digits(each.nodeMs)})`);
    progress(`first answers after ${startTexts.join(", ")} ms`);

    const agent = await startAgent(["--uri", `file:${file}`], cores.measured);
    processes.push(agent.process);
    await agent.untilReady();
    const asked = new Map<Contender, { readonly pid: number; readonly input: RequestLoadInput }>([
      ["gRPC", { pid: agent.process.pid, input: grpcLoad(agent.grpcPort, flagSet) }],
      ["OFREP", { pid: agent.process.pid, input: ofrepLoad(agent.ofrepPort, flagSet) }],
      ["OFREP bulk", { pid: agent.process.pid, input: bulkLoad(agent.ofrepPort) }],
    ]);
    for (const [suffix, image] of [
      ["", agentSettings()],
      [", V8 as it is", {}],
    ] as const) {
      const echo = await startServer("echo", cores.measured, image);
      const hello = await startServer("hello", cores.measured, image);
      processes.push(echo.process, hello.process);
      const echoLoad = grpcLoad(echo.port, flagSet, "/bench.Echo/Echo");
      asked.set(`echo of grpc-js${suffix}`, { pid: echo.process.pid, input: echoLoad });
      asked.set(`hello of node:http${suffix}`, {
        pid: hello.process.pid,
        input: ofrepLoad(hello.port, flagSet),
      });
    }
    const script = await bundle("load/request-load.child.ts", "proxy");
    const samples: Round[] = [];
    resetPeakMemory(agent.process.pid);
    for (let round = -1; round < rounds; round++) {
      const rates: Partial<Record<Contender, number>> = {};
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed())
        rates[contender] = await answersPerCpuSecond(asked.get(contender), script, cores, windowMs);
      // The first round only warms up.
      if (round >= 0) samples.push({ answersPerCpuSecond: rates as Record<Contender, number> });
      progress(
        `round ${round + 1} of ${rounds}: ${contenders.map((each) => `${each} ${digits(rates[each] ?? NaN)}`).join(", ")} per CPU second`,
      );
    }
    const memory = processMemory(agent.process.pid);
    return outcome(samples, startsMs, memory, { flags, bytes: document.length, cores });
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function outcome(
  samples: readonly Round[],
  starts: readonly Start[],
  memory: { readonly peakRssMb: number; readonly privateMb: number },
  { flags, bytes, cores }: { flags: number; bytes: number; cores: CorePlan },
): CaseOutcome {
  const firstAnswersMs = starts.map(({ firstAnswerMs }) => firstAnswerMs);
  const rates = (contender: Contender): number[] =>
    samples.map(({ answersPerCpuSecond }) => answersPerCpuSecond[contender]);
  /** Processor time of an answer, in relation to one of the other. */
  const costs = (contender: Contender, other: Contender): number[] =>
    samples.map(({ answersPerCpuSecond: rate }) => rate[other] / rate[contender]);
  const isNewV8 = Number.parseInt(process.versions.v8, 10) >= 12;
  return {
    setup: [
      `${flags.toLocaleString("en")} flags (${bytesText(bytes)})`,
      `V8 flags of the agent \`${agentSettings().nodeFlags.join(" ")}\``,
      `${samples.length} rounds`,
      cores.description,
    ],
    tables: [
      {
        title: "Answers",
        columns: ["", "answers per second of processor time: median (min–max)", "in relation to"],
        rows: [
          [
            "gRPC",
            range(spread(rates("gRPC"))),
            `${digits(1 / median(costs("gRPC", "echo of grpc-js")))} × the echo`,
          ],
          ["echo of grpc-js", range(spread(rates("echo of grpc-js"))), ""],
          ["echo of grpc-js, V8 as it is", range(spread(rates("echo of grpc-js, V8 as it is"))), ""],
          [
            "OFREP",
            range(spread(rates("OFREP"))),
            `${digits(1 / median(costs("OFREP", "hello of node:http")))} × the hello`,
          ],
          ["hello of node:http", range(spread(rates("hello of node:http"))), ""],
          ["hello of node:http, V8 as it is", range(spread(rates("hello of node:http, V8 as it is"))), ""],
          ["OFREP bulk, all flags", range(spread(rates("OFREP bulk"))), ""],
        ],
      },
      {
        title: "The agent",
        columns: ["", "median (min–max)"],
        rows: [
          ["from the start of the process to the first answer, ms", range(spread(firstAnswersMs))],
          [
            "start and end of node alone (`node -e 0`), ms",
            range(spread(starts.map(({ nodeMs }) => nodeMs))),
          ],
          ["peak RSS in all of this, MB", digits(memory.peakRssMb)],
          ["private memory afterwards, MB", digits(memory.privateMb)],
        ],
      },
    ],
    targets: [
      {
        what: "gRPC: processor time of an answer, in relation to the echo's: median",
        limit: 1 / 1.6,
        measured: median(costs("gRPC", "echo of grpc-js")),
        unit: "×",
      },
      {
        what: "OFREP: processor time of an answer, in relation to the hello's: median",
        limit: 1 / 0.8,
        measured: median(costs("OFREP", "hello of node:http")),
        unit: "×",
      },
      { what: "start to first answer: median", limit: 150, measured: median(firstAnswersMs), unit: "ms" },
      ...(isNewV8
        ? [
            { what: "peak RSS, bulk answers included", limit: 80, measured: memory.peakRssMb, unit: "MB" },
            { what: "private memory afterwards", limit: 30, measured: memory.privateMb, unit: "MB" },
          ]
        : []),
    ],
    warnings: [],
    invalid: [],
    samples: { rounds: samples, starts, memory },
  };
}

export async function answersPerCpuSecond(
  asked: { readonly pid: number; readonly input: RequestLoadInput } | undefined,
  script: string,
  cores: CorePlan,
  windowMs: number,
): Promise<number> {
  if (asked === undefined) throw new Error("there is no such server");
  const { pid, input } = asked;
  const load = new ChildProcess<RequestLoadHandlers>({ name: "request load", script, core: cores.load });
  try {
    await load.call("start", input);
    // The client compiles its code, and the server wakes up.
    await delay(windowMs / 2);
    const [cpuBefore, answersBefore] = [cpuTime(pid), await load.call("answers", undefined)];
    await delay(windowMs);
    const [cpuAfter, answersAfter] = [cpuTime(pid), await load.call("answers", undefined)];
    await load.call("stop", undefined);
    return ((answersAfter - answersBefore) / (cpuAfter.busyMs - cpuBefore.busyMs)) * 1_000;
  } finally {
    await load.stop();
  }
}

export async function startServer(
  kind: "echo" | "hello",
  core: number | undefined,
  image: Partial<ImageEntrypoint>,
): Promise<{ process: ChildProcess<EchoServerHandlers>; port: number }> {
  const script = await bundle(`servers/${kind}-server.child.ts`, "proxy");
  const process = new ChildProcess<EchoServerHandlers>({
    name: `the ${kind} server`,
    ...image,
    script,
    core,
  });
  return { process, port: await process.call("start", undefined) };
}

function timeOfNode(core: number | undefined): number {
  const { nodeFlags, environment } = agentSettings();
  const command = [process.execPath, ...nodeFlags, "-e", "0"];
  const [file = "", ...args] =
    core === undefined ? command : ["taskset", "--cpu-list", String(core), ...command];
  const startedMs = performance.now();
  const { status } = spawnSync(file, args, { env: { PATH: process.env["PATH"], ...environment } });
  if (status !== 0) throw new Error(`node ended with ${String(status)}`);
  return performance.now() - startedMs;
}

/** From before the process is made until it has answered. */
async function timeToFirstAnswer(
  file: string,
  { keysByKind }: FlagSet,
  core: number | undefined,
): Promise<number> {
  const startedMs = performance.now();
  const { process, ofrepPort } = await startAgent(["--uri", `file:${file}`], core);
  try {
    for (;;) {
      process.assertRuns();
      const status = await statusOf(ofrepPort, `/ofrep/v1/evaluate/flags/${keysByKind.static[0] ?? ""}`);
      if (status === 200) return performance.now() - startedMs;
      if (performance.now() > startedMs + 20_000) throw new Error("the agent did not answer within 20 s");
      await delay(1);
    }
  } finally {
    await process.stop();
  }
}

/** Undefined if nothing answers. */
function statusOf(port: number, requestPath: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const call = request({ host: "127.0.0.1", port, method: "POST", path: requestPath, agent: false });
    call.on("error", () => resolve(undefined));
    call.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.end("{}");
  });
}

function contexts(): JsonObject[] {
  const random = new Random(7);
  return Array.from({ length: contextCount }, () => randomContext(random));
}

function grpcLoad(port: number, { document, keysByKind }: FlagSet, requestPath?: string): RequestLoadInput {
  const keys = Object.values(keysByKind)
    .flat()
    .filter((key) => isBoolean(document.flags[key] as JsonObject));
  const requests = contexts().map((context, index) => ({
    path: requestPath ?? "/flagd.evaluation.v1.Service/ResolveBoolean",
    bodyBase64: Buffer.from(
      evaluationV1.ResolveBooleanRequest.encode({
        flagKey: keys[index % keys.length] ?? "",
        context,
      }).finish(),
    ).toString("base64"),
  }));
  return { protocol: "grpc", port, concurrency, requests };
}

/** Over HTTP/1.1, as JSON. */
export function connectLoad(port: number, { document, keysByKind }: FlagSet): RequestLoadInput {
  const keys = Object.values(keysByKind)
    .flat()
    .filter((key) => isBoolean(document.flags[key] as JsonObject));
  const requests = contexts().map((context, index) => ({
    path: "/flagd.evaluation.v1.Service/ResolveBoolean",
    bodyBase64: Buffer.from(JSON.stringify({ flagKey: keys[index % keys.length] ?? "", context })).toString(
      "base64",
    ),
  }));
  return { protocol: "http1", port, concurrency, requests };
}

export function ofrepLoad(port: number, { keysByKind }: FlagSet): RequestLoadInput {
  const keys = Object.values(keysByKind).flat();
  return http1Load(
    port,
    (index) => `/ofrep/v1/evaluate/flags/${encodeURIComponent(keys[index % keys.length] ?? "")}`,
  );
}

function bulkLoad(port: number): RequestLoadInput {
  return http1Load(port, () => "/ofrep/v1/evaluate/flags");
}

function http1Load(port: number, pathOf: (index: number) => string): RequestLoadInput {
  const requests = contexts().map((context, index) => ({
    path: pathOf(index),
    bodyBase64: Buffer.from(JSON.stringify({ context })).toString("base64"),
  }));
  return { protocol: "http1", port, concurrency, requests };
}

function isBoolean({ variants }: JsonObject): boolean {
  return Object.values((variants ?? {}) as JsonObject).every((value) => typeof value === "boolean");
}
