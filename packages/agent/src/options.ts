import {
  choice,
  durationMs,
  integer,
  jsonText,
  list,
  mapping,
  option,
  port,
  text,
  toggle,
  type OptionsOf,
  type ValueType,
} from "@bunting/runtime";

const listening = "Listening";
const flags = "Where flags come from";
const evaluating = "Evaluation";
const limits = "Limits";
const security = "TLS and browsers";
const telemetry = "Telemetry";
const general = "General";

/** Permission bits in octal, as for chmod. */
const fileMode: ValueType<number> = {
  ...integer({ min: 0, max: 0o777 }),
  placeholder: "octal",
  fromTexts: (texts) => readMode(texts.at(-1) ?? ""),
  fromConfig: (value) => readMode(`${typeof value === "number" ? value : JSON.stringify(value)}`),
  show: (value) => value.toString(8).padStart(4, "0"),
};

function readMode(value: string): number {
  if (!/^0?o?[0-7]{3}$/.test(value))
    throw new Error(`expected permissions in octal such as 0660, got ${JSON.stringify(value)}`);
  return Number.parseInt(value.replace("o", ""), 8);
}

const bytes = integer({ min: 0, max: 1_000_000_000 });

/** Every option of `bunting-agent start`: those of `flagd start` and our own. docs/reference/agent-options.md is generated from this. */
export const agentOptionTable = {
  port: option({
    type: port,
    default: 8013,
    short: "p",
    describe: "Port of the evaluation services: gRPC, and JSON over HTTP/1.1.",
    group: listening,
    env: ["FLAGD_PORT"],
  }),
  managementPort: option({
    type: port,
    default: 8014,
    short: "m",
    describe: "Port of /healthz, /readyz, /metrics and gRPC health.",
    group: listening,
    env: ["FLAGD_MANAGEMENT_PORT"],
  }),
  syncPort: option({
    type: port,
    default: 8015,
    short: "g",
    describe: "Port of flagd.sync.v1, for providers that evaluate in process.",
    group: listening,
    env: ["FLAGD_SYNC_PORT"],
  }),
  ofrepPort: option({
    type: port,
    default: 8016,
    short: "r",
    describe: "Port of the OpenFeature Remote Evaluation Protocol (OFREP).",
    group: listening,
    env: ["FLAGD_OFREP_PORT"],
  }),
  socketPath: option({
    type: text,
    default: "",
    short: "d",
    describe: "A unix socket to listen on instead of --port.",
    group: listening,
    env: ["FLAGD_SOCKET_PATH"],
  }),
  syncSocketPath: option({
    type: text,
    default: "",
    short: "e",
    describe: "A unix socket to listen on instead of --sync-port.",
    group: listening,
    env: ["FLAGD_SYNC_SOCKET_PATH"],
  }),
  socketMode: option({
    type: fileMode,
    default: 0o666,
    describe:
      "Permissions of both sockets; the shared volume is the boundary, so every container of the pod may connect.",
    group: listening,
    env: ["BUNTING_SOCKET_MODE"],
  }),
  host: option({
    type: text,
    default: "",
    describe: "Address that all ports listen on; if empty, all addresses of the machine, IPv6 and IPv4.",
    group: listening,
    env: ["BUNTING_HOST"],
  }),
  uri: option({
    type: list,
    default: [],
    short: "f",
    describe: "Sources of flags: file:PATH or grpc://HOST:PORT; a later source wins over an earlier one.",
    group: flags,
    env: ["FLAGD_URI"],
  }),
  sources: option({
    type: jsonText,
    default: "",
    short: "s",
    describe: 'Sources as a JSON list: [{"uri":"proxy:8015","provider":"grpc","selector":"namespace/name"}].',
    group: flags,
    env: ["FLAGD_SOURCES"],
  }),
  cacheDir: option({
    type: text,
    default: "",
    describe:
      "A directory for the last-known-good copies of each source's flags, to start from while the source is unreachable; if empty, no copies are kept.",
    group: flags,
    env: ["BUNTING_CACHE_DIR"],
  }),
  syncProviderArgs: option({
    type: list,
    default: [],
    short: "a",
    describe: "Passed by older operators; flagd itself no longer has it.",
    group: flags,
    env: ["FLAGD_SYNC_PROVIDER_ARGS"],
    notYetInEffect: true,
  }),
  contextValue: option({
    type: mapping,
    default: {},
    short: "X",
    describe: "Values added to every evaluation context; they override those of the request.",
    group: evaluating,
    env: ["FLAGD_CONTEXT_VALUE"],
  }),
  contextFromHeader: option({
    type: mapping,
    default: {},
    short: "H",
    describe: "Request headers added to the evaluation context, as Header=contextKey.",
    group: evaluating,
    env: ["FLAGD_CONTEXT_FROM_HEADER"],
  }),
  streamDeadline: option({
    type: durationMs,
    default: 0,
    describe: "How long an event or sync stream may last; 0 means without limit.",
    group: limits,
    env: ["FLAGD_STREAM_DEADLINE"],
  }),
  disableSyncMetadata: option({
    type: toggle,
    default: false,
    describe: "Answers GetMetadata of flagd.sync.v1 with UNIMPLEMENTED.",
    group: flags,
    env: ["FLAGD_DISABLE_SYNC_METADATA"],
  }),
  maxRequestBody: option({
    type: bytes,
    default: 1_000_000,
    short: "B",
    describe: "Largest request body in bytes; 0 means no limit.",
    group: limits,
    env: ["FLAGD_MAX_REQUEST_BODY"],
  }),
  maxRequestHeader: option({
    type: bytes,
    default: 1_000_000,
    short: "R",
    describe: "Largest total size of request headers in bytes; 0 means 1 MiB.",
    group: limits,
    env: ["FLAGD_MAX_REQUEST_HEADER"],
  }),
  keepAliveMinTime: option({
    type: durationMs,
    default: 30_000,
    describe: "How often a sync client may ping; this agent accepts any number of pings.",
    group: limits,
    env: ["FLAGD_KEEP_ALIVE_MIN_TIME"],
    notYetInEffect: true,
  }),
  keepAlivePermitWithoutStream: option({
    type: toggle,
    default: true,
    describe: "Whether a sync client may ping without a stream; this agent always accepts that.",
    group: limits,
    env: ["FLAGD_KEEP_ALIVE_PERMIT_WITHOUT_STREAM"],
    notYetInEffect: true,
  }),
  serverCertPath: option({
    type: text,
    default: "",
    short: "c",
    describe: "Certificate of the evaluation and sync ports.",
    group: security,
    env: ["FLAGD_SERVER_CERT_PATH"],
    notYetInEffect: true,
  }),
  serverKeyPath: option({
    type: text,
    default: "",
    short: "k",
    describe: "Private key of the evaluation and sync ports.",
    group: security,
    env: ["FLAGD_SERVER_KEY_PATH"],
    notYetInEffect: true,
  }),
  corsOrigin: option({
    type: list,
    default: [],
    short: "C",
    describe: "Origins from which browsers may call.",
    group: security,
    env: ["FLAGD_CORS_ORIGIN"],
    notYetInEffect: true,
  }),
  metricsExporter: option({
    type: text,
    default: "",
    short: "t",
    describe: "otel sends metrics to a collector; Prometheus reads them on the management port in any case.",
    group: telemetry,
    env: ["FLAGD_METRICS_EXPORTER"],
    notYetInEffect: true,
  }),
  otelCollectorUri: option({
    type: text,
    default: "",
    short: "o",
    describe: "Address of an OpenTelemetry collector.",
    group: telemetry,
    env: ["FLAGD_OTEL_COLLECTOR_URI"],
    notYetInEffect: true,
  }),
  otelCertPath: option({
    type: text,
    default: "",
    short: "D",
    describe: "Client certificate for the collector.",
    group: telemetry,
    env: ["FLAGD_OTEL_CERT_PATH"],
    notYetInEffect: true,
  }),
  otelKeyPath: option({
    type: text,
    default: "",
    short: "K",
    describe: "Client key for the collector.",
    group: telemetry,
    env: ["FLAGD_OTEL_KEY_PATH"],
    notYetInEffect: true,
  }),
  otelCaPath: option({
    type: text,
    default: "",
    short: "A",
    describe: "Certificate authority of the collector.",
    group: telemetry,
    env: ["FLAGD_OTEL_CA_PATH"],
    notYetInEffect: true,
  }),
  otelReloadInterval: option({
    type: durationMs,
    default: 3_600_000,
    short: "I",
    describe: "How often the collector's certificates are read again.",
    group: telemetry,
    env: ["FLAGD_OTEL_RELOAD_INTERVAL"],
    notYetInEffect: true,
  }),
  logFormat: option({
    type: choice("console", "json"),
    default: "console",
    short: "z",
    describe: "console is for people, json is one object per line; both on stderr.",
    group: general,
    env: ["FLAGD_LOG_FORMAT"],
  }),
  debug: option({
    type: toggle,
    default: false,
    short: "x",
    describe: "Also log at debug level.",
    group: general,
    env: ["FLAGD_DEBUG"],
  }),
  config: option({
    type: text,
    default: "",
    describe:
      "A JSON, YAML or TOML file of options, with keys named as the flags; $HOME/.agent.yaml is read if it exists.",
    group: general,
    env: [],
  }),
} as const;

export type AgentOptions = OptionsOf<typeof agentOptionTable>;
