import { choice, durationMs, integer, option, port, text, toggle, type OptionsOf } from "@bunting/runtime";

const listening = "Listening";
const flags = "Where flags come from";
const cluster = "Reaching a cluster";
const life = "Life of a topic";
const subscribers = "Subscribers";
const limits = "Limits";
const stopping = "Shutting down";
const general = "General";

/** Every option of `bunting-proxy start`; docs/reference/proxy-options.md and `--help` are rendered from here. */
export const proxyOptionTable = {
  port: option({
    type: port,
    default: 8015,
    short: "p",
    describe: "Port of the sync services: gRPC over plaintext HTTP/2.",
    group: listening,
    env: ["FLAGD_PROXY_PORT", "BUNTING_PORT"],
  }),
  managementPort: option({
    type: port,
    default: 8016,
    short: "m",
    aliases: ["metrics-port"],
    describe: "Port of /healthz, /readyz, /metrics and gRPC health.",
    group: listening,
    env: ["FLAGD_PROXY_MANAGEMENT_PORT", "FLAGD_PROXY_METRICS_PORT", "BUNTING_MANAGEMENT_PORT"],
  }),
  host: option({
    type: text,
    default: "",
    describe: "Address that both ports are bound to; none means every address of the machine, IPv6 and IPv4.",
    group: listening,
    env: ["BUNTING_HOST"],
  }),
  source: option({
    type: text,
    default: "",
    describe:
      "kubernetes watches the FeatureFlags of a cluster, and is the default in a pod; dir:PATH serves the FeatureFlag manifests and flagd files below a directory, and every change of them.",
    group: flags,
    env: ["BUNTING_SOURCE"],
  }),
  watchScope: option({
    type: choice("auto", "object", "namespace", "cluster"),
    default: "auto",
    describe:
      "What is watched in a cluster: auto begins with single FeatureFlags and turns to namespaces, then the cluster, where there are many and RBAC allows; the others stay with one kind.",
    group: cluster,
    env: ["BUNTING_WATCH_SCOPE"],
  }),
  watchTimeout: option({
    type: durationMs,
    default: 300_000,
    describe:
      "How long the API server is asked to keep a watch open, at least; each watch asks for a time between this and twice as long.",
    group: cluster,
    env: ["BUNTING_WATCH_TIMEOUT"],
  }),
  kubeconfig: option({
    type: text,
    default: "",
    describe:
      "Kubeconfig file that says how to reach the cluster; else the pod's ServiceAccount, else KUBECONFIG, else ~/.kube/config.",
    group: cluster,
    env: ["BUNTING_KUBECONFIG"],
  }),
  kubeContext: option({
    type: text,
    default: "",
    describe: "Context of the kubeconfig; none means its current-context.",
    group: cluster,
    env: ["BUNTING_KUBE_CONTEXT"],
  }),
  serviceAccountDirectory: option({
    type: text,
    default: "",
    describe:
      "Where token, ca.crt and namespace of the pod's ServiceAccount are; none means /var/run/secrets/kubernetes.io/serviceaccount.",
    group: cluster,
    env: ["BUNTING_SERVICE_ACCOUNT_DIRECTORY"],
  }),
  allowFileSelectors: option({
    type: toggle,
    default: false,
    describe:
      "Lets a subscriber name any JSON or YAML file this process can read, with the selector file:PATH. For tests only.",
    group: flags,
    env: ["BUNTING_ALLOW_FILE_SELECTORS"],
  }),
  missingPolicy: option({
    type: choice("hold", "fail"),
    default: "hold",
    describe:
      "What a subscriber of a FeatureFlag that does not exist gets: hold keeps the stream open until it does, fail ends it with NOT_FOUND.",
    group: life,
    env: ["BUNTING_MISSING_POLICY"],
  }),
  deletionGrace: option({
    type: durationMs,
    default: 60_000,
    describe:
      "How long a deleted FeatureFlag is served as it was, to everyone, before the deletion policy counts.",
    group: life,
    env: ["BUNTING_DELETION_GRACE"],
  }),
  deletionPolicy: option({
    type: choice("keep", "empty", "close"),
    default: "keep",
    describe:
      "After the grace: keep serves the last flags on, empty sends a document without flags, close ends the streams with NOT_FOUND.",
    group: life,
    env: ["BUNTING_DELETION_POLICY"],
  }),
  topicLinger: option({
    type: durationMs,
    default: 30_000,
    describe: "How long a topic without subscribers keeps its flags ready for the next one.",
    group: life,
    env: ["BUNTING_TOPIC_LINGER"],
  }),
  compression: option({
    type: choice("auto", "off"),
    default: "auto",
    describe:
      "auto sends gzip to the streams whose grpc-accept-encoding lists it, compressed once a version; off sends it to nobody.",
    group: subscribers,
    env: ["BUNTING_COMPRESSION"],
  }),
  stallTimeout: option({
    type: durationMs,
    default: 60_000,
    describe:
      "A stream whose peer has taken nothing of a message for so long is ended, for its client to begin anew; 0 waits for ever.",
    group: subscribers,
    env: ["BUNTING_STALL_TIMEOUT"],
  }),
  keepaliveInterval: option({
    type: durationMs,
    default: 30_000,
    describe:
      "A connection on which nothing has come for so long is asked for a sign of life, by PING; 0 asks nobody.",
    group: subscribers,
    env: ["BUNTING_KEEPALIVE_INTERVAL"],
  }),
  keepaliveTimeout: option({
    type: durationMs,
    default: 20_000,
    describe: "How long its peer may take to answer before the connection is dropped.",
    group: subscribers,
    env: ["BUNTING_KEEPALIVE_TIMEOUT"],
  }),
  maxConnectionAge: option({
    type: durationMs,
    default: 0,
    describe:
      "Ends connections of that age, a tenth more or less, as a shutdown would, so that clients spread over new replicas; 0 lets them be. Applications of stock clients see STALE for a moment.",
    group: subscribers,
    env: ["BUNTING_MAX_CONNECTION_AGE"],
  }),
  firstSnapshotRate: option({
    type: integer({ min: 0, max: 1_000_000 }),
    default: 5_000,
    describe:
      "How many streams a second get their first flags; others wait, in turns by connection. Edits wait for nobody. 0 is any number.",
    group: limits,
    env: ["BUNTING_FIRST_SNAPSHOT_RATE"],
  }),
  firstSnapshotBurst: option({
    type: integer({ min: 1, max: 1_000_000 }),
    default: 5_000,
    describe: "How many streams get their first flags at once after a quiet time.",
    group: limits,
    env: ["BUNTING_FIRST_SNAPSHOT_BURST"],
  }),
  maxStreamsPerConnection: option({
    type: integer({ min: 1, max: 100_000 }),
    default: 1_000,
    describe: "How many streams a connection may have open; clients open another connection, or wait.",
    group: limits,
    env: ["BUNTING_MAX_STREAMS_PER_CONNECTION"],
  }),
  maxTopicsPerConnection: option({
    type: integer({ min: 0, max: 1_000_000 }),
    default: 32,
    describe:
      "How many different FeatureFlags one connection may be subscribed to; 0 is any number, for proxies that bundle the streams of many clients.",
    group: limits,
    env: ["BUNTING_MAX_TOPICS_PER_CONNECTION"],
  }),
  maxTopicsPerAddress: option({
    type: integer({ min: 0, max: 1_000_000 }),
    default: 1_024,
    describe:
      "How many different FeatureFlags the connections from one address may be subscribed to; 0 is any number. Loopback is not counted.",
    group: limits,
    env: ["BUNTING_MAX_TOPICS_PER_ADDRESS"],
  }),
  ackTimeout: option({
    type: durationMs,
    default: 30_000,
    describe:
      "How long an agent that speaks bunting.sync.v1 may take to acknowledge what it was sent before it is sent the whole document.",
    group: subscribers,
    env: ["BUNTING_ACK_TIMEOUT"],
  }),
  drainDelay: option({
    type: durationMs,
    default: 3_000,
    describe:
      "After SIGTERM: how long to accept and serve on while /readyz answers 412, so that load balancers look away first.",
    group: stopping,
    env: ["BUNTING_DRAIN_DELAY"],
  }),
  drainWindow: option({
    type: durationMs,
    default: 5_000,
    describe:
      "After the delay: the time over which connections are ended one by one, so that agents do not come back all at once.",
    group: stopping,
    env: ["BUNTING_DRAIN_WINDOW"],
  }),
  status: option({
    type: choice("loopback", "all", "off"),
    default: "loopback",
    describe:
      "Who is answered on /status of the management port (topics, versions, subscribers, never flags): loopback is the pod itself and kubectl port-forward.",
    group: listening,
    env: ["BUNTING_STATUS"],
  }),
  logFormat: option({
    type: choice("console", "json"),
    default: "console",
    short: "z",
    describe: "Lines for a person, or one JSON object a line; both on stderr.",
    group: general,
    env: ["FLAGD_PROXY_LOG_FORMAT", "BUNTING_LOG_FORMAT"],
  }),
  debug: option({
    type: toggle,
    default: false,
    short: "x",
    describe: "Also log what is only of use while looking for a fault.",
    group: general,
    env: ["FLAGD_PROXY_DEBUG_LOGGING", "BUNTING_DEBUG"],
  }),
  config: option({
    type: text,
    default: "",
    describe:
      "A JSON, YAML or TOML file of options, keys named as the flags; $HOME/.agent.yaml is read if it is there.",
    group: general,
    env: [],
  }),
} as const;

export type ProxyOptions = OptionsOf<typeof proxyOptionTable>;
