import type { LeftOut } from "./leave-out.js";

/** Modules of grpc-js that a program does without which is a client only, and why. */
export const leftOutOfGrpcClients: readonly LeftOut[] = [
  {
    from: "@grpc/grpc-js",
    modules: ["./server", "./server-interceptors", "./server-credentials", "./orca"],
    reason: "agent and proxy use grpc-js as a client only; @bunting/server and @bunting/rpc are its server",
  },
  {
    from: "@grpc/grpc-js",
    modules: ["./experimental"],
    instead: `const { registerResolver } = require("./resolver");
      const { splitHostPort } = require("./uri-parser");
      const { statusOrFromValue } = require("./call-interface");
      module.exports = { registerResolver, splitHostPort, statusOrFromValue };`,
    reason: "of all that it exports, packages/remote/src/listed-addresses.ts takes these three",
  },
  {
    from: "@grpc/grpc-js",
    modules: [
      "./load-balancer-round-robin",
      "./load-balancer-weighted-round-robin",
      "./load-balancer-outlier-detection",
      "./single-subchannel-channel",
    ],
    reason:
      "used by service configs only, which SyncChannel disables (grpc.service_config_disable_resolution)",
  },
  {
    from: "@grpc/grpc-js",
    modules: ["@grpc/proto-loader"],
    reason: "used by the channelz service only, which needs a grpc-js server",
  },
  {
    from: "@grpc/grpc-js",
    modules: ["net"],
    instead: `const net = require("node:net");
      module.exports = Object.setPrototypeOf({ isIPv6: (text) => String(text).includes(":") && net.isIPv6(text) }, net);`,
    reason:
      "grpc-js asks node several times for each address whether it is one of IPv6, by a regular expression whose code is 160 KB: this asks only about what has a colon",
  },
];

/** Modules that the agent's bundle does without, and why it never needs them. */
export const leftOutOfAgent: readonly LeftOut[] = [
  ...leftOutOfGrpcClients,
  {
    from: "prom-client",
    modules: ["./lib/cluster", "./lib/pushgateway", "./lib/summary", "./lib/defaultMetrics"],
    reason: "one process that is scraped, without summaries or node's own metrics (createRegistry(false))",
  },
  {
    from: "pino",
    modules: ["./lib/transport", "./transport", "./lib/multistream", "@pinojs/redact", "worker_threads"],
    reason:
      "logs go straight to stderr: no worker thread, no second stream, nothing to redact; isMainThread, of worker_threads, is read only as a condition, and the stub is true",
  },
  {
    from: "sonic-boom",
    modules: ["assert"],
    instead: "module.exports = (isTrue, message) => { if (!isTrue) throw new Error(message); };",
    reason:
      "node's assert opens stderr as a stream as soon as it is loaded, which takes some milliseconds of the start",
  },
];
