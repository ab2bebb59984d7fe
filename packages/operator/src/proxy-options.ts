import {
  choice,
  duration,
  integer,
  mapping,
  option,
  optionGroup,
  port,
  text,
  toggle,
  textOption,
  toggleOption,
} from "@bunting/runtime";
import { namespaces, redisFiles } from "./option-values.js";

/** The options of the proxy that the operator deploys. */
export const deployedProxyOptionTable = optionGroup("The proxy", {
  proxy: option(
    choice("auto", "always", "never"),
    "auto",
    "When the proxy is deployed: auto while something uses it, always, or never, for a cluster whose proxy is installed by other means.",
  ),
  proxyImage: option(text, "ghcr.io/bunting/bunting-proxy", "Image of the proxy, with or without a digest.", {
    env: ["FLAGD_PROXY_IMAGE"],
  }),
  proxyTag: textOption("Its tag. If empty, and the image has no digest, the operator's own version.", {
    env: ["FLAGD_PROXY_TAG"],
  }),
  proxyReplicaCount: option(
    integer({ min: 0, max: 1_000 }),
    2,
    "How many replicas the proxy has, unless something else scales it.",
    { env: ["FLAGD_PROXY_REPLICA_COUNT"] },
  ),
  proxyPort: option(port, 8015, "Port of the proxy and of its Service.", { env: ["FLAGD_PROXY_PORT"] }),
  proxyManagementPort: option(port, 8016, "Port of the proxy's probes and metrics.", {
    env: ["FLAGD_PROXY_MANAGEMENT_PORT", "FLAGD_PROXY_METRICS_PORT"],
  }),
  proxyDebugLogging: toggleOption("The proxy also logs at debug level.", {
    env: ["FLAGD_PROXY_DEBUG_LOGGING"],
  }),
  proxyOption: option(
    mapping,
    {},
    "Further options of the proxy by their names without dashes, such as deletion-policy=empty.",
  ),
  redisSecret: textOption(
    "A Secret of the operator's namespace by which the proxy's replicas share a Redis: its key address is --backplane of the proxy. Pods of the proxy start once it is there. If empty, each replica watches for itself.",
  ),
  redisSecretFiles: option(
    redisFiles,
    ["user", "password"],
    "Which further keys of that Secret the proxy is given, as files: user, password, sentinel-user, sentinel-password, ca.crt (the authority of Redis), tls.crt and tls.key (what the proxy presents), signing-keys (which sign what is in Redis). It has to have all of them.",
  ),
  proxyLinger: option(
    duration({ minMs: 0, maxMs: 86_400_000, zero: "off" }),
    600_000,
    "How long the proxy stays after its last use.",
    { env: [], isInternal: true },
  ),
  proxyServiceAccount: option(
    text,
    "open-feature-operator-flagd-proxy",
    "ServiceAccount of the proxy, in the operator's namespace. It has to be there, and has to be able to read FeatureFlags.",
  ),
  proxyNetworkPolicy: option(
    toggle,
    true,
    "A NetworkPolicy lets only Pods of the cluster reach the proxy, its metrics only those of the namespace monitoring and the operator's own, and the proxy only DNS and the API server. With most network plugins, Pods that use the network of their node are not among them; with host-network-pods=inject, flags are for everybody who reaches the proxy, and so are metrics where the operator itself is such a Pod.",
  ),
  proxySecurity: option(
    choice("off", "mixed", "on"),
    "off",
    "Whether the proxy and its sidecars speak TLS with an authority of the operator's own, and sidecars prove who they are by tokens of their Pods: mixed also serves all who do neither, such as stock sidecars and applications that evaluate in process; on refuses these, once no Pod is left that it would refuse.",
  ),
  proxySecurityExcept: option(
    namespaces,
    [],
    "Namespaces that a change of proxy-security does not wait for, such as one whose owner holds it up: a Pod there that can't ask the proxy any more, once it has changed, keeps the flags that it has until it is created again.",
  ),
  statusAgents: option(
    toggle,
    true,
    "Says in the status of FeatureFlags how many agents there are, and how many have the newest, as the proxy that the operator deploys tells it. Each change is a new version of the object, at most one in 10 s, with which sidecars of the open-feature-operator that watch FeatureFlags themselves read all flags again.",
  ),
  clusterDomain: option(
    text,
    "cluster.local",
    "Domain of the cluster, for the address by which sidecars reach the proxy.",
    { env: ["FLAGD_CLUSTER_DOMAIN", "CLUSTER_DOMAIN"] },
  ),
  drift: option(
    choice("repair", "enforce"),
    "repair",
    "What is done about changes that others make to the proxy's objects: repair takes back edits, and leaves fields to those who apply them (Argo CD, Flux); enforce takes those back as well.",
  ),
});
