/** Renders docs/flagd-parity.md: what flagd 0.16.1 has, beside what the agent's own tables say of it. */
import { agentOptionTable } from "@bunting/agent/internal/options.js";
import { agentPrometheusMetrics } from "@bunting/agent/internal/management/prometheus-metrics.js";
import { createRegistry } from "@bunting/runtime";
import { flagName, type OptionSpec } from "@bunting/runtime/internal/options/option.js";

interface FlagdFlag {
  readonly flag: string;
  readonly short?: string;
  /** As `--help` of the agent would show it. */
  readonly default: string;
  /** What is different, or better, about ours; none if it is the same. */
  readonly ours?: string;
}

/** `flagd start --help`. Each has the variable FLAGD_ and its name in capitals. */
const flags: readonly FlagdFlag[] = [
  { flag: "port", short: "p", default: "8013" },
  { flag: "management-port", short: "m", default: "8014" },
  { flag: "sync-port", short: "g", default: "8015" },
  { flag: "ofrep-port", short: "r", default: "8016" },
  {
    flag: "socket-path",
    short: "d",
    default: "none",
    ours: "better: a stale file is replaced, and --socket-mode sets the permissions",
  },
  { flag: "sync-socket-path", short: "e", default: "none", ours: "better: likewise" },
  { flag: "server-cert-path", short: "c", default: "none", ours: "better: read again when it changes" },
  { flag: "server-key-path", short: "k", default: "none", ours: "better: read again when it changes" },
  {
    flag: "uri",
    short: "f",
    default: "none",
    ours: "different: gs://, azblob:// and s3:// are not supported",
  },
  {
    flag: "sources",
    short: "s",
    default: "none",
    ours: "better: a field that is not used is named in a warning",
  },
  { flag: "cors-origin", short: "C", default: "none" },
  { flag: "context-value", short: "X", default: "none" },
  { flag: "context-from-header", short: "H", default: "none" },
  { flag: "stream-deadline", default: "0" },
  { flag: "disable-sync-metadata", default: "false" },
  { flag: "keep-alive-min-time", default: "30s" },
  { flag: "keep-alive-permit-without-stream", default: "true" },
  {
    flag: "max-request-body",
    short: "B",
    default: "1000000",
    ours: "better: also bounds what a compressed request unfolds to; with 0 that is 1 MiB, or 16 times what was sent",
  },
  { flag: "max-request-header", short: "R", default: "1000000" },
  { flag: "log-format", short: "z", default: "console", ours: "different: no banner on stdout" },
  { flag: "metrics-exporter", short: "t", default: "none", ours: "better: Prometheus can read them as well" },
  {
    flag: "otel-collector-uri",
    short: "o",
    default: "none",
    ours: "better: also over HTTP, and with TLS; different: OTEL_EXPORTER_OTLP_ENDPOINT does not override it, and is named in a warning",
  },
  { flag: "otel-cert-path", short: "D", default: "none", ours: "better: flagd does not use it" },
  { flag: "otel-key-path", short: "K", default: "none", ours: "better: flagd does not use it" },
  { flag: "otel-ca-path", short: "A", default: "none", ours: "better: flagd does not use it" },
  { flag: "otel-reload-interval", short: "I", default: "1h", ours: "better: flagd does not use it" },
  { flag: "debug", short: "x", default: "false" },
  { flag: "config", default: "none" },
];

const metrics: readonly string[] = [
  "feature_flag_flagd_impression_total",
  "feature_flag_flagd_result_reason_total",
  "feature_flag_flagd_sync_active_streams",
  "feature_flag_flagd_sync_stream_duration_seconds",
  "http_server_active_requests",
  "http_server_request_body_size_bytes",
  "http_server_request_duration_seconds",
  "http_server_response_body_size_bytes",
  "rpc_server_duration_milliseconds",
  "rpc_server_request_size_bytes",
  "rpc_server_requests_per_rpc",
  "rpc_server_response_size_bytes",
  "rpc_server_responses_per_rpc",
  "target_info",
];

/** Throws if the code has not what the table above says it has: then the table, or the code, is to be mended. */
export async function renderFlagdParity(): Promise<string> {
  const options = new Map(
    (Object.entries(agentOptionTable) as unknown as [string, OptionSpec<unknown>][]).map(([key, spec]) => [
      flagName(key, spec),
      spec,
    ]),
  );
  const ofFlagd = new Set(flags.map(({ flag }) => flag));
  const ours = [...options].filter(([name, { isInternal }]) => !ofFlagd.has(name) && isInternal !== true);
  return [
    "The agent takes flagd's place: its flags, variables, protocols, sources and metrics, compared with flagd 0.16.1. The answers themselves are in [protocol-differences.md](protocol-differences.md) and [evaluation-differences.md](evaluation-differences.md); the proxy is compared with flagd-proxy in [flagd-proxy-parity.md](flagd-proxy-parity.md).",
    "## Flags and variables",
    "Each flag has the variable of flagd as well: `FLAGD_` and its name in capitals. A flag that neither knows is refused by both.",
    table(
      ["flagd", "default", "Bunting"],
      flags.map((flag) => flagRow(flag, options.get(flag.flag))),
    ),
    "flagd 0.16.1 has none of these; [the reference](reference/agent-options.md) says what they are for.",
    table(
      ["flag", "default"],
      ours.map(([name, spec]) => [`\`--${name}\``, spec.type.show(spec.default)]),
    ),
    "## Protocols",
    table(
      ["flagd", "Bunting"],
      [
        ["gRPC: `flagd.evaluation.v2`, `flagd.evaluation.v1`, `schema.v1`", "same"],
        ["Connect, unary and streaming, JSON and protobuf, gzip", "same"],
        ["gRPC-Web, binary", "same"],
        ["gRPC-Web, text: 415", "better: answered (`application/grpc-web-text`)"],
        ["over h2c by prior knowledge, HTTP/1.1", "same"],
        ["h2c by upgrade", "answered over HTTP/1.1: RFC 9113 has removed the upgrade"],
        ["OFREP: single and bulk", "better: ETag, as flagd has since 0.16.2"],
        [
          "`flagd.sync.v1`",
          "better: a slow client costs no memory; streams end with UNAVAILABLE at shutdown",
        ],
        [
          "`GET /v1/flags` on the sync port, of later versions (`--sync-http-enabled`, there on by default)",
          "same, off by default; also `/v1/flags/<selector>` and `?selector=`, and over HTTP/2; no ranges",
        ],
        ["`flagd.sync.v1` over Connect and gRPC-Web, of later versions", "not supported"],
        ["`grpc.health.v1`", "better: not serving until there are flags; flagd always says SERVING"],
        ["CORS on the ports for evaluation and OFREP", "same"],
      ],
    ),
    "## Sources",
    table(
      ["flagd", "Bunting"],
      [
        ["`file`, `fsnotify`, `fileinfo`", "better: a file that is deleted or half-written keeps its flags"],
        ["`http`", "better: `bearerToken` as the operator writes it, no secrets to other hosts"],
        ["`grpc`", "better: keepalive, connects again at once, `bunting.sync.v1` with bunting-proxy"],
        ["`kubernetes`", "better: confirmed deletions; no KUBECONFIG"],
        ["`gcs`, `azblob`, `s3`", "not supported: an error says so, and the other sources serve"],
        ["a source that can't be reached at the start", "better: `--cache-dir` has the last known flags"],
      ],
    ),
    "[sources.md](sources.md) has every field.",
    "## Metrics",
    "The same names and labels; Go's own (`go_…`, `process_…`) are missing, ours (`bunting_agent_…`) come in addition.",
    table(["flagd", "Bunting"], await metricRows()),
  ].join("\n\n");
}

function flagRow(flag: FlagdFlag, spec: OptionSpec<unknown> | undefined): readonly string[] {
  if (spec === undefined) throw new Error(`the agent has no --${flag.flag}, but flagd has`);
  const variable = `FLAGD_${flag.flag.toUpperCase().replaceAll("-", "_")}`;
  if (flag.flag !== "config" && !spec.env.includes(variable))
    throw new Error(`--${flag.flag} has no ${variable}`);
  if (spec.short !== flag.short) throw new Error(`--${flag.flag} is not -${flag.short ?? ""}`);
  const shown = spec.type.show(spec.default);
  if (shown !== flag.default) throw new Error(`--${flag.flag} has the default ${shown}, not ${flag.default}`);
  const short = flag.short === undefined ? "" : `, \`-${flag.short}\``;
  return [`\`--${flag.flag}\`${short}`, flag.default, verdict(flag, spec)];
}

function verdict({ ours }: FlagdFlag, spec: OptionSpec<unknown>): string {
  if (spec.ignoredBecause !== undefined) return `accepted and ignored: ${spec.ignoredBecause}`;
  return ours ?? "same";
}

async function metricRows(): Promise<string[][]> {
  const registry = createRegistry(false);
  agentPrometheusMetrics(registry);
  const names = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name));
  return metrics.map((name) => {
    if (!names.has(name)) throw new Error(`the agent has no metric ${name}, but flagd has`);
    return [`\`${name}\``, "same"];
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
