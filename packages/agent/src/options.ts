import {
  byteSizeOrAuto,
  duration,
  integer,
  list,
  longestMs,
  mapping,
  option,
  optionGroup,
  port,
  serviceOptions,
  toggle,
  type OptionsOf,
  textOption,
  toggleOption,
} from "@bunting/runtime";
import { fileMode } from "./file-mode.js";
import { sourceGroup, sourceOptions } from "./source-options.js";
import { telemetryOptions } from "./telemetry-options.js";

/** What flagd accepts, but for negative durations. */
const anyDuration = duration({ minMs: 0, maxMs: longestMs, zero: "off" });
const keepAliveIgnored = "clients may ping at any pace that is not a flood, with and without streams";
/** The largest id of a user or group; one more means none. */
const maxId = 2 ** 32 - 2;
const bytes = integer({ min: 0, max: 1_000_000_000 });

/** Every option of `bunting-agent start`: those of `flagd start` and our own. docs/reference/agent-options.md is generated from this. */
export const agentOptionTable = {
  ...optionGroup("Listening", {
    port: option(
      port,
      8013,
      "Port of the evaluation services: gRPC, and JSON over HTTP/1.1; 0 takes a free one.",
      { short: "p", env: ["FLAGD_PORT"] },
    ),
    managementPort: option(
      port,
      8014,
      "Port of /healthz, /readyz, /metrics and gRPC health; 0 takes a free one.",
      { short: "m", formerNames: ["metrics-port"], env: ["FLAGD_MANAGEMENT_PORT"] },
    ),
    syncPort: option(
      port,
      8015,
      "Port of flagd.sync.v1, for providers that evaluate in process; 0 takes a free one.",
      { short: "g", env: ["FLAGD_SYNC_PORT"] },
    ),
    ofrepPort: option(
      port,
      8016,
      "Port of the OpenFeature Remote Evaluation Protocol (OFREP); 0 takes a free one.",
      { short: "r", env: ["FLAGD_OFREP_PORT"] },
    ),
    socketPath: textOption("A unix socket to listen on instead of --port.", {
      short: "d",
      env: ["FLAGD_SOCKET_PATH"],
    }),
    syncSocketPath: textOption("A unix socket to listen on instead of --sync-port.", {
      short: "e",
      env: ["FLAGD_SYNC_SOCKET_PATH"],
    }),
    socketMode: option(
      fileMode,
      0o666,
      "Permissions of both sockets; the shared volume is the boundary, so every container of the Pod may connect.",
    ),
    socketUid: option(
      integer({ min: -1, max: maxId }),
      -1,
      "The user that both sockets are given to; -1 leaves them to the agent's. Needs the right to do so.",
    ),
    socketGid: option(
      integer({ min: -1, max: maxId }),
      -1,
      "The group that both sockets are given to, which must be one of the agent's, such as the Pod's fsGroup; -1 leaves them to its first. With --socket-mode=0660, only this group may connect.",
    ),
    host: textOption(
      "Address that all ports listen on; if empty, all addresses of the machine, IPv6 and IPv4.",
    ),
  }),
  ...sourceOptions,
  ...optionGroup(sourceGroup, {
    syncProviderArgs: option(
      list,
      [],
      "The operator passes it if a FeatureFlagSource has syncProviderArgs.",
      { short: "a", env: ["FLAGD_SYNC_PROVIDER_ARGS"], ignoredBecause: "flagd has dropped it in 0.8" },
    ),
    syncHttpEnabled: toggleOption(
      "Serves GET /v1/flags on the sync port, over HTTP/1.1 and HTTP/2: the flags as a document, for clients that poll, such as an http source of another agent.",
      { env: ["FLAGD_SYNC_HTTP_ENABLED"] },
    ),
    disableSyncMetadata: toggleOption("Answers GetMetadata of flagd.sync.v1 with UNIMPLEMENTED.", {
      env: ["FLAGD_DISABLE_SYNC_METADATA"],
    }),
  }),
  ...optionGroup("Evaluation", {
    contextValue: option(
      mapping,
      {},
      "Values added to every evaluation context; they override those of the request.",
      { short: "X", env: ["FLAGD_CONTEXT_VALUE"] },
    ),
    contextFromHeader: option(
      mapping,
      {},
      "Request headers added to the evaluation context, as Header=contextKey.",
      { short: "H", env: ["FLAGD_CONTEXT_FROM_HEADER"] },
    ),
    ofrepSseEnabled: toggleOption(
      "Serves GET /ofrep/v1/sse on the OFREP port, a stream that tells clients to ask for their flags again, and names it as eventStreams in the answers for all flags.",
      { env: ["FLAGD_OFREP_SSE_ENABLED"] },
    ),
    ofrepSseInactivityDelay: option(
      integer({ min: 1, max: 86_400 }),
      120,
      "After how many seconds in the background a client should close its stream of --ofrep-sse-enabled.",
      { env: ["FLAGD_OFREP_SSE_INACTIVITY_DELAY"] },
    ),
    ofrepSsePublicUrl: textOption(
      "The origin under which clients reach the OFREP port, such as https://flags.example.com, for the URL in eventStreams; if empty, they connect where they ask for their flags.",
      { env: ["FLAGD_OFREP_SSE_PUBLIC_URL"] },
    ),
  }),
  ...optionGroup("Limits", {
    streamDeadline: option(
      anyDuration,
      0,
      "How long an event or sync stream may last; 0 means without limit.",
      { env: ["FLAGD_STREAM_DEADLINE"] },
    ),
    recentChanges: option(
      duration({ minMs: 0, maxMs: 3_600_000, zero: "off" }),
      300_000,
      "How long a change is announced to new streams of events, whose clients may have missed it while they had none: longer than any client waits between two. gRPC's own back-off ends at two minutes. With 0, nothing is.",
      { isInternal: true, env: [] },
    ),
    peerMemory: option(
      byteSizeOrAuto({ min: 1024 * 1024, max: 1024 ** 4 }),
      "auto",
      "How much memory applications may make the agent hold: connections, streams, headers, requests that have not arrived whole, and responses not read. Beyond it, the connections that hold most are ended, and new ones refused. auto is a quarter of the limit of V8's heap, or three quarters of what the container's memory limit leaves at the start, whichever is less.",
    ),
    maxRequestBody: option(bytes, 1_000_000, "Largest request body in bytes; 0 means no limit.", {
      short: "B",
      env: ["FLAGD_MAX_REQUEST_BODY"],
    }),
    maxRequestHeader: option(
      bytes,
      1_000_000,
      "Largest total size of request headers in bytes, over HTTP/1.1 with 4 KiB more as in flagd; 0 means 1 MiB: there is always a limit.",
      { short: "R", env: ["FLAGD_MAX_REQUEST_HEADER"] },
    ),
    keepAliveMinTime: option(
      anyDuration,
      30_000,
      "How often a sync client may ping in flagd, which ends the connections of others; 0 means as often as it likes.",
      { env: ["FLAGD_KEEP_ALIVE_MIN_TIME"], ignoredBecause: keepAliveIgnored },
    ),
    keepAlivePermitWithoutStream: option(
      toggle,
      true,
      "Whether a sync client may ping without a stream in flagd, which ends the connections of others.",
      { env: ["FLAGD_KEEP_ALIVE_PERMIT_WITHOUT_STREAM"], ignoredBecause: keepAliveIgnored },
    ),
  }),
  ...optionGroup("TLS and browsers", {
    serverCertPath: textOption(
      "A file with the certificate, in PEM and with those of intermediate authorities after it, for TLS on the evaluation and sync ports; unix sockets have none. It is read again when it changes.",
      { short: "c", env: ["FLAGD_SERVER_CERT_PATH"] },
    ),
    serverKeyPath: textOption(
      "A file with the private key of that certificate, in PEM and without a password.",
      { short: "k", env: ["FLAGD_SERVER_KEY_PATH"] },
    ),
    authTokenFile: textOption(
      "A file with tokens, one a line. With it, calls of the evaluation, sync and OFREP ports and sockets are answered only with one of them, as Authorization: Bearer; the management port needs none. It is read again when it changes.",
    ),
    corsOrigin: option(
      list,
      [],
      "Origins from which browsers may call, of the evaluation and OFREP ports; each may have one * for any text; if empty, all.",
      { short: "C", env: ["FLAGD_CORS_ORIGIN"] },
    ),
  }),
  ...telemetryOptions,
  ...serviceOptions(
    "General",
    { default: "console", short: "z", env: ["FLAGD_LOG_FORMAT"] },
    { env: ["FLAGD_DEBUG"] },
  ),
} as const;

export type AgentOptions = OptionsOf<typeof agentOptionTable>;
