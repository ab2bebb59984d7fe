import { choice, duration, integer, option, text } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

const evaluations = "Evaluations of an agent";
const subscribers = "Subscribers of a proxy";
const connections = "Connections";
const load = "Load";

export const benchOptionTable = {
  grpc: option({
    type: text,
    default: "",
    describe: "HOST:PORT or unix:PATH of an agent's evaluation port: evaluates over gRPC, on one connection.",
    group: evaluations,
    env: ["BUNTING_BENCH_GRPC"],
  }),
  ofrep: option({
    type: text,
    default: "",
    describe:
      "HOST:PORT or unix:PATH of an agent's OFREP port: evaluates over HTTP, with a connection for each caller.",
    group: evaluations,
    env: ["BUNTING_BENCH_OFREP"],
  }),
  flag: option({
    type: text,
    default: "",
    describe: "Key of the flag to evaluate.",
    group: evaluations,
    env: ["BUNTING_BENCH_FLAG"],
  }),
  type: option({
    type: choice("boolean", "string", "integer", "float", "object"),
    default: "boolean",
    short: "t",
    describe: "Type of the flag, which has a method of its own in gRPC.",
    group: evaluations,
    env: ["BUNTING_TYPE"],
  }),
  context: option({
    type: text,
    default: "{}",
    short: "c",
    describe:
      "The evaluation context: a JSON object, @FILE for a file with one, or - for the standard input.",
    group: evaluations,
    env: ["BUNTING_CONTEXT"],
  }),
  callers: option({
    type: integer({ min: 1, max: 10_000 }),
    default: 32,
    describe: "How many callers ask at the same time, each again as soon as it is answered.",
    group: evaluations,
    env: ["BUNTING_BENCH_CALLERS"],
  }),
  proxy: option({
    type: text,
    default: "",
    describe: "HOST:PORT or unix:PATH of a proxy's sync port: subscribes to a FeatureFlag.",
    group: subscribers,
    env: ["BUNTING_BENCH_PROXY"],
  }),
  topic: option({
    type: text,
    default: "",
    describe: "NAMESPACE/NAME of the FeatureFlag.",
    group: subscribers,
    env: ["BUNTING_TOPIC"],
  }),
  subscribers: option({
    type: integer({ min: 1, max: 100_000 }),
    default: 1_000,
    describe: "How many subscribers.",
    group: subscribers,
    env: ["BUNTING_BENCH_SUBSCRIBERS"],
  }),
  connections: option({
    type: integer({ min: 1, max: 10_000 }),
    default: 10,
    describe: "How many connections the subscribers share. Pods have one each, which costs the proxy more.",
    group: subscribers,
    env: ["BUNTING_BENCH_CONNECTIONS"],
  }),
  ...connectionOptions(connections),
  duration: option({
    type: duration({ minMs: 100, maxMs: 3_600_000, zero: "use 1s for a short look" }),
    default: 10_000,
    short: "d",
    describe: "How long each load lasts.",
    group: load,
    env: ["BUNTING_BENCH_DURATION"],
  }),
  warmUp: option({
    type: duration({ minMs: 0, maxMs: 600_000, zero: "off" }),
    default: 1_000,
    describe: "How long evaluations run before they are counted.",
    group: load,
    env: ["BUNTING_BENCH_WARM_UP"],
  }),
  json: jsonOption,
} as const;
