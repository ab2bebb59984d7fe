// What the agent's bundle does without, and why nobody misses it.
export const leftOutOfAgent = [
  {
    from: "@grpc/grpc-js",
    modules: ["./server", "./server-interceptors", "./server-credentials", "./orca", "./experimental"],
    reason: "the agent is a client of grpc-js; what it serves is served by @bunting/rpc",
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
      "only a service config asks for them, and SyncChannel takes none (grpc.service_config_disable_resolution)",
  },
  {
    from: "@grpc/grpc-js",
    modules: ["@grpc/proto-loader"],
    reason: "for the channelz service, which a server would have to serve",
  },
  {
    from: "prom-client",
    modules: ["./lib/cluster", "./lib/pushgateway", "./lib/summary", "./lib/defaultMetrics"],
    reason: "one process that is scraped, without summaries or the metrics of node (createRegistry(false))",
  },
  {
    from: "pino",
    modules: ["./lib/transport", "./transport", "./lib/multistream", "@pinojs/redact"],
    reason: "logs go straight to stderr; no worker thread, no second stream, nothing to redact",
  },
];
