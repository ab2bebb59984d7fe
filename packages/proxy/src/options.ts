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
  text,
  toggle,
  type OptionsOf,
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
    port: option({
      type: port,
      default: 8015,
      short: "p",
      describe:
        "Port of the sync services: gRPC over HTTP/2, plaintext unless --tls says otherwise; 0 takes a free one.",
      env: ["FLAGD_PROXY_PORT", "BUNTING_PORT"],
    }),
    managementPort: option({
      type: port,
      default: 8016,
      short: "m",
      aliases: ["metrics-port"],
      describe: "Port of /healthz, /readyz, /metrics and gRPC health; 0 takes a free one.",
      env: ["FLAGD_PROXY_MANAGEMENT_PORT", "FLAGD_PROXY_METRICS_PORT", "BUNTING_MANAGEMENT_PORT"],
    }),
    host: option({
      type: text,
      default: "",
      describe: "Address that both ports listen on; if empty, all addresses of the machine, IPv6 and IPv4.",
    }),
    status: option({
      type: choice("loopback", "all", "off"),
      default: "loopback",
      describe:
        "Who may read /status on the management port (topics, versions, subscribers, never flags): loopback is the Pod itself and kubectl port-forward; requests that a proxy or the sidecar of a service mesh forwards are refused. With all, callers from elsewhere need an identity, unless --auth=anonymous (see --management-auth).",
    }),
    statusTokenFile: option({
      type: text,
      default: "",
      describe:
        "A file with tokens, one a line: whoever presents one of them, as Authorization: Bearer, gets /status from anywhere, without names of subscribers, unless --status=off. It is read again when it changes, and may be absent. The operator reads with such a token how many agents have a FeatureFlag.",
    }),
  }),
  ...tlsOptionTable,
  ...optionGroup("Where flags come from", {
    source: option({
      type: text,
      default: "",
      describe:
        "kubernetes watches the FeatureFlags of a cluster, and is the default in a Pod; dir:PATH serves the FeatureFlag manifests and flagd files in a directory and its subdirectories; upstream:HOST:PORT[,HOST:PORT…] serves what other proxies serve, of which one is used at a time (a semicolon separates those of different clusters).",
    }),
    ...cacheOptionTable,
    ...remoteOptionTable,
    allowFileSelectors: option({
      type: toggle,
      default: false,
      describe:
        "Lets subscribers select any JSON or YAML file that this process can read, with the selector file:PATH. For tests only.",
    }),
  }),
  ...upstreamOptionTable,
  ...backplaneOptionTable,
  ...optionGroup(cluster, {
    watchScope: option({
      type: choice("auto", "object", "namespace", "cluster"),
      default: "auto",
      describe:
        "What is watched in a cluster: auto watches single FeatureFlags, and namespaces or the whole cluster if there are many and RBAC allows it; the others watch in one way only.",
    }),
    watchTimeout: option({
      type: duration({
        minMs: 1_000,
        maxMs: dayMs,
        zero: "use a short time, such as 1m, to have watches re-opened often",
      }),
      default: 300_000,
      describe:
        "How long the API server is asked to keep a watch open; each watch asks for a random time between this and twice as long.",
    }),
  }),
  ...kubeconfigOptions(cluster),
  ...serviceAccountOption(cluster),
  ...accessOptionTable,
  ...optionGroup("Life of a topic", {
    missingPolicy: option({
      type: choice("hold", "fail"),
      default: "hold",
      describe:
        "What a subscriber of a FeatureFlag that does not exist gets: hold keeps the stream open until it does, fail ends it with NOT_FOUND.",
    }),
    deletionGrace: option({
      type: duration({ minMs: 0, maxMs: yearMs, zero: "off" }),
      default: 60_000,
      describe:
        "How long the last flags of a deleted FeatureFlag are served, to new subscribers too, before the deletion policy applies; 0 applies it at once.",
    }),
    deletionPolicy: option({
      type: choice("keep", "empty", "close"),
      default: "keep",
      describe:
        "After the grace: keep still serves the last flags, empty sends a document without flags, close ends the streams with NOT_FOUND.",
    }),
    topicLinger: option({
      type: duration({ minMs: 0, maxMs: yearMs, zero: "off" }),
      default: 30_000,
      describe:
        "How long the flags of a FeatureFlag without subscribers are kept for the next one; 0 keeps none.",
    }),
  }),
  ...optionGroup("Subscribers", {
    compression: option({
      type: choice("auto", "off"),
      default: "auto",
      describe:
        "auto sends gzip to streams whose grpc-accept-encoding lists it, compressed once for each version; off never does.",
    }),
    stallTimeout: option({
      type: duration({ minMs: 100, maxMs: yearMs, zero: "off" }),
      default: 60_000,
      describe:
        "A stream or a connection whose peer has not taken a message for this long is ended, so that its client reconnects; 0 never ends it.",
    }),
    keepaliveInterval: option({
      type: duration({ minMs: 100, maxMs: dayMs, zero: "off" }),
      default: 30_000,
      describe:
        "After this time without data from a peer, the proxy sends it a PING; 0 never does. Connections that have failed are closed all the same.",
    }),
    keepaliveTimeout: option({
      type: duration({ minMs: 100, maxMs: hourMs, zero: "use --keepalive-interval=0 to turn keepalive off" }),
      default: 20_000,
      describe:
        "How long a peer may take to answer the PING before its connection is closed; --keepalive-interval=0 turns both off.",
    }),
    maxConnectionAge: option({
      type: duration({ minMs: 1_000, maxMs: yearMs, zero: "off" }),
      default: 0,
      describe:
        "Ends connections of this age, plus or minus a tenth, as a shutdown does, so that clients spread over new replicas; 0 never does. Applications with stock clients see STALE for a moment.",
    }),
    ackTimeout: option({
      type: duration({
        minMs: 100,
        maxMs: hourMs,
        zero: "use a long time instead: without any, one lost acknowledgement would end the updates of an agent",
      }),
      default: 30_000,
      describe:
        "How long an agent that speaks bunting.sync.v1 may take to acknowledge a message before it is sent the whole document.",
    }),
  }),
  ...optionGroup("Limits", {
    firstSnapshotRate: option({
      type: integer({ min: 0, max: 1_000_000 }),
      default: 5_000,
      describe:
        "How many streams per second get their first flags; the others wait, and connections take turns. Edits are not delayed. 0 is unlimited.",
    }),
    firstSnapshotBurst: option({
      type: integer({ min: 1, max: 1_000_000 }),
      default: 5_000,
      describe: "How many streams may get their first flags at once after a quiet time.",
    }),
    maxStreamsPerConnection: option({
      type: integer({ min: 1, max: 100_000 }),
      default: 10_000,
      describe: "How many streams a connection may have; clients open another connection, or wait.",
    }),
    peerMemory: option({
      type: byteSizeOrAuto({ min: 1024 * 1024, max: 1024 ** 4 }),
      default: "auto",
      describe:
        "How much memory clients may make the proxy hold: connections, streams, headers, requests that have not arrived whole, and responses not read. Beyond it, the connections that hold most are ended, and new ones refused. auto is the limit of V8's heap, or three quarters of what the container's memory limit leaves at the start, whichever is less, and at most 1Gi.",
    }),
    maxTopicsPerConnection: option({
      type: integer({ min: 0, max: 1_000_000 }),
      // Together, with a stream for each, they take less than half of what --peer-memory lets connections hold beyond an ordinary one.
      default: 1_000,
      describe:
        "How many different FeatureFlags one connection may subscribe to, those it left last within --topic-linger included; 0 is unlimited, for load balancers that multiplex many clients. Each takes 14 KiB of --peer-memory.",
    }),
    maxTopicsPerAddress: option({
      type: integer({ min: 0, max: 1_000_000 }),
      // Another proxy may be behind the address, with the topics of all its clients.
      default: 4_096,
      describe:
        "How many different FeatureFlags the connections from one address may subscribe to, counted likewise; 0 is unlimited. Loopback is not counted.",
    }),
  }),
  ...optionGroup("Shutting down", {
    drainDelay: option({
      type: duration({ minMs: 0, maxMs: hourMs, zero: "off" }),
      default: 3_000,
      describe:
        "After SIGTERM: how long to continue to accept and serve while /readyz answers 412, so that load balancers stop sending clients first; 0 drains at once.",
    }),
    drainWindow: option({
      type: duration({ minMs: 0, maxMs: hourMs, zero: "off" }),
      default: 5_000,
      describe:
        "After the delay: the time over which connections are ended one by one, so that agents do not reconnect all at once; 0 ends all at once.",
    }),
  }),
  ...serviceOptions(
    "General",
    { default: "console", short: "z", env: ["FLAGD_PROXY_LOG_FORMAT", "BUNTING_LOG_FORMAT"] },
    { env: ["FLAGD_PROXY_DEBUG_LOGGING", "BUNTING_DEBUG"] },
  ),
} as const;

export type ProxyOptions = OptionsOf<typeof proxyOptionTable>;
