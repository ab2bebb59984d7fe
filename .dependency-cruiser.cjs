// The folders follow the data: a package or stage imports only what is upstream of it.
// Without exportsFields and conditionNames, workspace imports stay unresolved and every rule passes: hence no-unresolved.

/** Tests, their fixtures and their child processes. */
const tests = "\\.(test|fixture|child)\\.ts$";

/**
 * Stages of a service in the order a flag change travels; options and metrics may be used by all of them. Those of server and rpc are in the
 * order of who builds on whom.
 */
const stages = {
  featureflags: ["resource", "manifest", "check"],
  backplane: [
    "address",
    "connection",
    "lease",
    "record",
    "interest",
    "announcement",
    "membership",
    "degraded",
  ],
  server: ["node-internals", "limits", "http1", "tls", "port", "exchange"],
  rpc: ["call", "services"],
  proxy: ["source", "snapshot", "topic", "access", "subscriber", "service", "management"],
  agent: ["document", "sync", "store", "api", "management", "telemetry"],
  operator: [
    "api",
    "sources",
    "pod",
    "desired",
    "upgrade",
    "push",
    "extensions",
    "certificates",
    "admission",
    "controllers",
  ],
};

/** For each stage: no import of a later one, nor of the wiring. */
const stageRules = Object.entries(stages).flatMap(([service, names]) =>
  names.map((name, index) => ({
    name: `${service}-${name}-imports-upstream-only`,
    severity: "error",
    from: { path: `^packages/${service}/src/${name}/`, pathNot: tests },
    to: {
      path: [
        ...names.slice(index + 1).map((later) => `^packages/${service}/src/${later}/`),
        `^packages/${service}/src/(${service}|main|index)\\.ts$`,
        `^packages/${service}/src/wiring/`,
      ],
    },
  })),
);

module.exports = {
  forbidden: [
    { name: "no-unresolved", severity: "error", from: {}, to: { couldNotResolve: true } },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "leaves-import-nothing-of-ours",
      severity: "error",
      from: { path: "^packages/(protocol|runtime)/" },
      to: { path: "^packages/", pathNot: "^packages/$1/" },
    },
    {
      name: "evaluation-imports-protocol-only",
      severity: "error",
      from: { path: "^packages/evaluation/" },
      to: { path: "^packages/", pathNot: "^packages/(evaluation|protocol)/" },
    },
    {
      name: "evaluation-knows-no-node",
      comment: "It runs in browsers, too: docs/playground.",
      severity: "error",
      from: { path: "^packages/evaluation/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "extension-imports-protocol-only",
      comment: "It is published: an extension has none of the operator's code.",
      severity: "error",
      from: { path: "^packages/extension/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(extension|protocol)/" },
    },
    {
      name: "files-imports-leaves-only",
      severity: "error",
      from: { path: "^packages/files/" },
      to: { path: "^packages/", pathNot: "^packages/(files|protocol|runtime)/" },
    },
    {
      name: "featureflags-knows-no-cluster-and-no-service",
      severity: "error",
      from: { path: "^packages/featureflags/", pathNot: tests },
      to: {
        path: "^packages/",
        pathNot:
          "^packages/(featureflags/|protocol/|evaluation/|files/|runtime/src/(options|scheduling/event-loop)\\.ts$)",
      },
    },
    {
      name: "only-checks-of-flags-evaluate",
      comment: "The proxy reads manifests, and has no evaluator.",
      severity: "error",
      from: { path: "^packages/featureflags/", pathNot: `^packages/featureflags/src/check/|${tests}` },
      to: { path: "^packages/evaluation/" },
    },
    {
      name: "http2-imports-runtime-only",
      comment:
        "The engine knows accounts, turns and sockets by its own interfaces: account.ts, turn-share.ts, socket-access.ts.",
      severity: "error",
      from: { path: "^packages/http2/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(http2|runtime)/" },
    },
    {
      name: "server-knows-no-calls-and-no-flags",
      severity: "error",
      from: { path: "^packages/server/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(server|http2|runtime)/" },
    },
    {
      name: "rpc-sees-the-transport-only",
      comment: "Of the engine a call sees transport.ts, and nothing of the port.",
      severity: "error",
      from: { path: "^packages/rpc/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(rpc|protocol|runtime|http2/src/(index|status)\\.ts$)" },
    },
    {
      name: "services-see-no-engine",
      comment: "What they need of the engine is exported by server, and by rpc what belongs to calls.",
      severity: "error",
      from: { path: "^packages/(proxy|agent|cli|sync-client)/", pathNot: tests },
      to: { path: "^packages/http2/" },
    },
    {
      name: "kube-knows-no-flags",
      severity: "error",
      from: { path: "^packages/kube/" },
      to: { path: "^packages/", pathNot: "^packages/(kube|runtime)/" },
    },
    {
      name: "identity-imports-runtime-and-kube-only",
      severity: "error",
      from: { path: "^packages/identity/" },
      to: { path: "^packages/", pathNot: "^packages/(identity|runtime|kube)/" },
    },
    {
      name: "backplane-imports-leaves-only",
      severity: "error",
      from: { path: "^packages/backplane/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(backplane|protocol|runtime)/" },
    },
    {
      name: "only-backplane-imports-ioredis",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/backplane/" },
      to: { path: "/ioredis/" },
    },
    {
      name: "sync-client-knows-no-service",
      severity: "error",
      from: { path: "^packages/sync-client/" },
      to: {
        path: "^packages/",
        pathNot: "^packages/(sync-client/|protocol/|runtime/|files/|server/src/clients\\.ts$)",
      },
    },
    {
      name: "outbound-knows-no-flags",
      comment: "It calls addresses that somebody else has named, for whatever purpose.",
      severity: "error",
      from: { path: "^packages/outbound/", pathNot: tests },
      to: { path: "^packages/", pathNot: "^packages/(outbound/|runtime/|sync-client/src/http\\.ts$)" },
    },
    {
      name: "remote-knows-no-service",
      severity: "error",
      from: { path: "^packages/remote/", pathNot: tests },
      to: {
        path: "^packages/",
        pathNot:
          "^packages/(remote/|outbound/|sync-client/|files/|protocol/|evaluation/|runtime/|featureflags/src/(resources|resource/.*)\\.ts$)",
      },
    },
    {
      name: "sync-client-http-loads-no-grpc",
      comment:
        "grpc-js is a third of the agent's code: whoever fetches documents over HTTP needs none of it.",
      severity: "error",
      from: { path: "^packages/sync-client/src/http(/|\\.ts$)", pathNot: tests },
      to: { path: "@grpc/|^packages/(sync-client/src/(?!http/)|server/)" },
    },
    {
      name: "jose-is-loaded-on-first-use",
      comment: "It takes 8 MB, which only a proxy that verifies tokens needs.",
      severity: "error",
      from: { path: "^packages/", pathNot: tests },
      to: { path: "/jose/", dynamic: false, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only-kube-imports-client-node",
      comment: "82 MB of memory where it is loaded: types and kubeconfig parsing only, and that on demand.",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/kube/" },
      to: { path: "@kubernetes/" },
    },
    {
      name: "only-telemetry-imports-open-telemetry",
      comment: "It takes megabytes: loaded where there is a collector, with open-telemetry.ts.",
      severity: "error",
      from: {
        path: "^packages/",
        pathNot:
          "^packages/agent/src/telemetry/(open-telemetry|collector-connection|otel-variables|registry-producer)\\.ts$",
      },
      to: { path: "@opentelemetry/" },
    },
    {
      name: "proxy-loads-grpc-js-on-first-use",
      comment:
        "Only a proxy that is fed by others needs a client of gRPC: its source imports the link to them dynamically.",
      severity: "error",
      from: {
        path: "^packages/proxy/",
        pathNot: `^packages/proxy/src/source/upstream/(connect-upstream|advice-on-end|linked-topics|refresh-topic|upstream-link|upstream-stream)\\.ts$|${tests}`,
      },
      to: {
        path: "@grpc/|^packages/sync-client/src/index\\.ts$|^packages/proxy/src/source/upstream/(connect-upstream|advice-on-end|linked-topics|refresh-topic|upstream-link|upstream-stream)\\.ts$",
        dynamic: false,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "proxy-loads-ioredis-on-first-use",
      comment:
        "Only replicas that share a Redis need its client: their source imports what uses it dynamically.",
      severity: "error",
      from: {
        path: "^packages/proxy/",
        pathNot: `^packages/proxy/src/source/backplane/(followed-refreshes|inner-watch|known|known-history|local-sink|read-record-keys|record-writer|redis-health|replicated-topics?|topic-following|topic-history|topic-table)\\.ts$|${tests}`,
      },
      to: {
        path: "^packages/backplane/src/index\\.ts$|^packages/proxy/src/source/backplane/(followed-refreshes|inner-watch|known|known-history|local-sink|read-record-keys|record-writer|redis-health|replicated-topics?|topic-following|topic-history|topic-table)\\.ts$",
        dynamic: false,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "services-never-meet",
      severity: "error",
      from: { path: "^packages/(proxy|agent|operator|cli)/" },
      to: { path: "^packages/(proxy|agent|operator|cli)/", pathNot: "^packages/$1/" },
    },
    {
      name: "operator-decides-without-a-cluster",
      comment:
        "What a source becomes is computed from objects alone, so that every decision is tested by a table.",
      severity: "error",
      from: { path: "^packages/operator/src/(api|sources|pod|desired|upgrade|push)/", pathNot: tests },
      to: { path: "^packages/(kube|server)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "nothing-imports-the-cli",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/cli/" },
      to: { path: "^packages/cli/" },
    },
    {
      name: "cli-loads-commands-on-first-use",
      comment:
        "A check of flags starts fast, because it loads nothing of the other commands, and --version loads no yargs.",
      severity: "error",
      from: { path: "^packages/cli/src/[^/]*$", pathNot: tests },
      to: {
        path: "^packages/cli/src/[^/]*/run-[a-z]+\\.ts$|^packages/cli/src/command-line/",
        dynamic: false,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "only-cli-imports-yargs",
      comment:
        "It costs 20 ms and 10 MB at the start of a process: the services have the reader of runtime/options.",
      severity: "error",
      from: {
        path: "^(packages|bench|examples|scripts)/",
        pathNot: `^packages/cli/src/(command-line|completion)/|${tests}`,
      },
      to: { path: "(^|/)yargs(/|$)" },
    },
    {
      name: "cli-loads-no-logger",
      comment: "The main entry of runtime loads the logger and the metrics; its entry options does not.",
      severity: "error",
      from: { path: "^packages/cli/", pathNot: tests },
      to: { path: "^packages/runtime/src/index\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "agent-never-reaches-client-node",
      severity: "error",
      from: { path: "^packages/agent/" },
      to: { path: "@kubernetes/", reachable: true },
    },
    {
      name: "agent-reaches-kube-on-first-use-only",
      comment:
        "The sources of provider kubernetes, http and remote are chunks, so that agents without them pay nothing.",
      severity: "error",
      from: { path: "^packages/agent/", pathNot: "^packages/agent/src/sync/kubernetes/" },
      to: { path: "^packages/kube/" },
    },
    {
      name: "agent-loads-chunks-on-first-use",
      severity: "error",
      from: {
        path: "^packages/agent/",
        pathNot: `^packages/agent/src/sync/(kubernetes|http|manifest|remote)/|${tests}`,
      },
      to: {
        path: "^packages/agent/src/sync/(kubernetes|http|manifest|remote)/|^packages/sync-client/src/http\\.ts$",
        dynamic: false,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "production-imports-no-tests",
      severity: "error",
      from: { path: "^packages/", pathNot: tests },
      to: { path: `${tests}|^(test|bench|examples)/` },
    },
    {
      name: "only-clients-import-node-http2",
      comment: "As a server, HTTP/2 is our own, behind the interface of packages/http2/src/transport.ts.",
      severity: "error",
      from: {
        path: "^packages/(proxy|agent|runtime|protocol|http2|server|rpc|sync-client)/",
        pathNot: `^packages/(sync-client/src/guard|server/src/node-internals)/|${tests}`,
      },
      to: { path: "^(node:)?http2$" },
    },
    ...stageRules,
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@bunting/source", "import", "node", "default"],
      extensions: [".ts", ".js"],
    },
    tsConfig: { fileName: "tsconfig.base.json" },
  },
};
