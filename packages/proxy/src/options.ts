import {
  byteSizeOrAuto,
  choice,
  duration,
  integer,
  kubeconfigOptions,
  option,
  optionGroup,
  port,
  serviceAccountOption,
  serviceOptions,
  type OptionsOf,
  toggleOption,
  textOption,
} from "@bunting/runtime";
import { accessOptionTable } from "./access-options.js";
import { backplaneOptionTable } from "./backplane-options.js";
import { cacheOptionTable } from "./cache-options.js";
import { remoteOptionTable } from "./remote-options.js";
import { tlsOptionTable } from "./tls-options.js";
import { upstreamOptionTable } from "./upstream-options.js";

const cluster = "Reaching a cluster";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const yearMs = 365 * dayMs;

/** Every option of `bunting-proxy start`; docs/reference/proxy-options.md and `--help` are rendered from here. */
export const proxyOptionTable = {
  ...optionGroup("Listening", {
    port: option(
      port,
      8015,
      "Port of the sync services: gRPC over HTTP/2, plaintext unless --tls says otherwise; 0 takes a free one.",
      { short: "p", env: ["FLAGD_PROXY_PORT", "BUNTING_PORT"] },
    ),
    managementPort: option(
      port,
      8016,
      "Port of /healthz, /readyz, /metrics and gRPC health; 0 takes a free one.",
      {
        short: "m",
        aliases: ["metrics-port"],
        env: ["FLAGD_PROXY_MANAGEMENT_PORT", "FLAGD_PROXY_METRICS_PORT", "BUNTING_MANAGEMENT_PORT"],
      },
    ),
    host: textOption(
      "Address that both ports listen on; if empty, all addresses of the machine, IPv6 and IPv4.",
    ),
    status: option(
      choice("loopback", "all", "off"),
      "loopback",
      "Who may read /status on the management port (topics, versions, subscribers, never flags): loopback is the Pod itself and kubectl port-forward; requests that a proxy or the sidecar of a service mesh forwards are refused. With all, callers from elsewhere need an identity, unless --auth=anonymous (see --management-auth).",
    ),
    statusTokenFile: textOption(
      "A file with tokens, one a line: whoever presents one of them, as Authorization: Bearer, gets /status from anywhere, without names of subscribers, unless --status=off. It is read again when it changes, and may be absent. The operator reads with such a token how many agents have a FeatureFlag.",
    ),
  }),
  ...tlsOptionTable,
  ...optionGroup("Where flags come from", {
    source: textOption(
      "kubernetes watches the FeatureFlags of a cluster, and is the default in a Pod; dir:PATH serves the FeatureFlag manifests and flagd files in a directory and its subdirectories; upstream:HOST:PORT[,HOST:PORT…] serves what other proxies serve, of which one is used at a time (a semicolon separates those of different clusters).",
    ),
    ...cacheOptionTable,
    ...remoteOptionTable,
    allowFileSelectors: toggleOption(
      "Lets subscribers select any JSON or YAML file that this process can read, with the selector file:PATH. For tests only.",
    ),
  }),
  ...upstreamOptionTable,
  ...backplaneOptionTable,
  ...optionGroup(cluster, {
    watchScope: option(
      choice("auto", "object", "namespace", "cluster"),
      "auto",
      "What is watched in a cluster: auto watches single FeatureFlags, and namespaces or the whole cluster if there are many and RBAC allows it; the others watch in one way only.",
    ),
    watchTimeout: option(
      duration({
        minMs: 1_000,
        maxMs: dayMs,
        zero: "use a short time, such as 1m, to have watches re-opened often",
      }),
      300_000,
      "How long the API server is asked to keep a watch open; each watch asks for a random time between this and twice as long.",
    ),
  }),
  ...kubeconfigOptions(cluster),
  ...serviceAccountOption(cluster),
  ...accessOptionTable,
  ...optionGroup("Life of a topic", {
    missingPolicy: option(
      choice("hold", "fail"),
      "hold",
      "What a subscriber of a FeatureFlag that does not exist gets: hold keeps the stream open until it does, fail ends it with NOT_FOUND.",
    ),
    deletionGrace: option(
      duration({ minMs: 0, maxMs: yearMs, zero: "off" }),
      60_000,
      "How long the last flags of a deleted FeatureFlag are served, to new subscribers too, before the deletion policy applies; 0 applies it at once.",
    ),
    deletionPolicy: option(
      choice("keep", "empty", "close"),
      "keep",
      "After the grace: keep still serves the last flags, empty sends a document without flags, close ends the streams with NOT_FOUND.",
    ),
    topicLinger: option(
      duration({ minMs: 0, maxMs: yearMs, zero: "off" }),
      30_000,
      "How long the flags of a FeatureFlag without subscribers are kept for the next one; 0 keeps none.",
    ),
  }),
  ...optionGroup("Subscribers", {
    compression: option(
      choice("auto", "off"),
      "auto",
      "auto sends gzip to streams whose grpc-accept-encoding lists it, compressed once for each version; off never does.",
    ),
    stallTimeout: option(
      duration({ minMs: 100, maxMs: yearMs, zero: "off" }),
      60_000,
      "A stream or a connection whose peer has not taken a message for this long is ended, so that its client reconnects; 0 never ends it.",
    ),
    keepaliveInterval: option(
      duration({ minMs: 100, maxMs: dayMs, zero: "off" }),
      30_000,
      "After this time without data from a peer, the proxy sends it a PING; 0 never does. Connections that have failed are closed all the same.",
    ),
    keepaliveTimeout: option(
      duration({ minMs: 100, maxMs: hourMs, zero: "use --keepalive-interval=0 to turn keepalive off" }),
      20_000,
      "How long a peer may take to answer the PING before its connection is closed; --keepalive-interval=0 turns both off.",
    ),
    maxConnectionAge: option(
      duration({ minMs: 1_000, maxMs: yearMs, zero: "off" }),
      0,
      "Ends connections of this age, plus or minus a tenth, as a shutdown does, so that clients spread over new replicas; 0 never does. Applications with stock clients see STALE for a moment.",
    ),
    ackTimeout: option(
      duration({
        minMs: 100,
        maxMs: hourMs,
        zero: "use a long time instead: without any, one lost acknowledgement would end the updates of an agent",
      }),
      30_000,
      "How long an agent that speaks bunting.sync.v1 may take to acknowledge a message before it is sent the whole document.",
    ),
  }),
  ...optionGroup("Limits", {
    firstSnapshotRate: option(
      integer({ min: 0, max: 1_000_000 }),
      5_000,
      "How many streams per second get their first flags; the others wait, and connections take turns. Edits are not delayed. 0 is unlimited.",
    ),
    firstSnapshotBurst: option(
      integer({ min: 1, max: 1_000_000 }),
      5_000,
      "How many streams may get their first flags at once after a quiet time.",
    ),
    maxStreamsPerConnection: option(
      integer({ min: 1, max: 100_000 }),
      10_000,
      "How many streams a connection may have; clients open another connection, or wait.",
    ),
    peerMemory: option(
      byteSizeOrAuto({ min: 1024 * 1024, max: 1024 ** 4 }),
      "auto",
      "How much memory clients may make the proxy hold: connections, streams, headers, requests that have not arrived whole, and responses not read. Beyond it, the connections that hold most are ended, and new ones refused. auto is the limit of V8's heap, or three quarters of what the container's memory limit leaves at the start, whichever is less, and at most 1Gi.",
    ),
    maxTopicsPerConnection: option(
      integer({ min: 0, max: 1_000_000 }), // Together, with a stream for each, they take less than half of what --peer-memory lets connections hold beyond an ordinary one.
      1_000,
      "How many different FeatureFlags one connection may subscribe to, those it left last within --topic-linger included; 0 is unlimited, for load balancers that multiplex many clients. Each takes 14 KiB of --peer-memory.",
    ),
    maxTopicsPerAddress: option(
      integer({ min: 0, max: 1_000_000 }), // Another proxy may be behind the address, with the topics of all its clients.
      4_096,
      "How many different FeatureFlags the connections from one address may subscribe to, counted likewise; 0 is unlimited. Loopback is not counted.",
    ),
  }),
  ...optionGroup("Shutting down", {
    drainDelay: option(
      duration({ minMs: 0, maxMs: hourMs, zero: "off" }),
      3_000,
      "After SIGTERM: how long to continue to accept and serve while /readyz answers 412, so that load balancers stop sending clients first; 0 drains at once.",
    ),
    drainWindow: option(
      duration({ minMs: 0, maxMs: hourMs, zero: "off" }),
      5_000,
      "After the delay: the time over which connections are ended one by one, so that agents do not reconnect all at once; 0 ends all at once.",
    ),
  }),
  ...serviceOptions(
    "General",
    { default: "console", short: "z", env: ["FLAGD_PROXY_LOG_FORMAT", "BUNTING_LOG_FORMAT"] },
    { env: ["FLAGD_PROXY_DEBUG_LOGGING", "BUNTING_DEBUG"] },
  ),
} as const;

export type ProxyOptions = OptionsOf<typeof proxyOptionTable>;
