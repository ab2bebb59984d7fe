import { isInCluster, type ConnectedCluster } from "@bunting/kube";
import { ownAddresses } from "@bunting/outbound";
import { readersAnnotation, type FlagDocument } from "@bunting/protocol";
import type { Context, OptionsOf } from "@bunting/runtime";
import { cacheOptionTable } from "../cache-options.js";
import type { ProxyOptions } from "../options.js";
import type { remoteOptionTable } from "../remote-options.js";
import { ProxyError } from "../proxy-error.js";
import { backplaneConfig, type BackplaneProxyOptions } from "./backplane/backplane-config.js";
import type { BackplaneMetrics } from "./backplane/backplane-metrics.js";
import { BackplaneSource } from "./backplane/backplane-source.js";
import { CachedSource } from "./cached/cached-source.js";
import { DirectorySource } from "./directory/directory-source.js";
import { FileSelectorSource } from "./directory/file-selector-source.js";
import type { FlagSource } from "./flag-source.js";
import { connectProxyCluster } from "./kubernetes/connect-cluster.js";
import { KubernetesSource } from "./kubernetes/kubernetes-source.js";
import { parseSourceOption, type SourceOption } from "./parse-source-option.js";
import { FetchingSource } from "./remote/fetching-source.js";
import { remoteLanguage } from "./remote/remote-language.js";
import type { RemoteMetrics } from "./remote/remote-metrics.js";
import { remoteSecrets } from "./remote/remote-secrets.js";
import { RemoteSource } from "./remote/remote-source.js";
import { RoutedSource } from "./routed-source.js";
import type { SourceMetrics } from "./source-metrics.js";
import { TierPath } from "./upstream/tier-path.js";
import {
  parseUpstreams,
  refuseWithoutUpstreams,
  upstreamCredentials,
  type UpstreamOptions,
} from "./upstream/upstream-config.js";
import { UpstreamSource } from "./upstream/upstream-source.js";

export type SourceOptions = Pick<
  ProxyOptions,
  | "source"
  | "allowFileSelectors"
  | "watchScope"
  | "watchTimeout"
  | "kubeconfig"
  | "kubeContext"
  | "serviceAccountDirectory"
> &
  OptionsOf<typeof cacheOptionTable> &
  OptionsOf<typeof remoteOptionTable> &
  UpstreamOptions &
  BackplaneProxyOptions;

export interface SourceParts {
  readonly context: Context<SourceMetrics & BackplaneMetrics & RemoteMetrics>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True if the readers that FeatureFlags name are needed. */
  readonly readsReaders?: boolean;
  /** Does most of the work of reporting a large document beforehand, in slices of the event loop. */
  readonly prepare?: (document: FlagDocument) => Promise<void>;
  /** A new one if not given. */
  readonly tierPath?: TierPath;
}

/**
 * How soon a replica notices that it can't read the API server. Replicas that share wait for one of them, the owner, so it has to notice, and let
 * another one take its place, within about the life of a lease: silence, a PING without an answer, and a watch that does not come back add up to
 * less than 5 s, where a replica of its own may take a minute. The price is a PING a second on connections without events.
 */
const ownerWatchTiming = {
  timing: { silenceMs: 1_000, pingTimeoutMs: 2_000 },
  staleAfterMs: 1_500,
} as const;

/**
 * Makes the source that the options name.
 *
 * @throws ProxyError OPTION_INVALID if they do not name one.
 */
export function createSource(options: SourceOptions, parts: SourceParts): FlagSource {
  const named = parseSourceOption(options.source, isInCluster(parts.env));
  const { cacheDir, cacheSize } = options;
  if (cacheDir === "" && cacheSize !== cacheOptionTable.cacheSize.default)
    throw ProxyError.optionInvalid(
      "--cache-size is given without --cache-dir, which says where copies are kept: none would be",
    );
  if (named.kind !== "kubernetes" && options.remoteHosts.length > 0)
    throw ProxyError.optionInvalid(
      "--remote-hosts is for --source kubernetes, whose FeatureFlags may name remotes; other sources name none: leave it out",
    );
  const main =
    named.kind === "kubernetes"
      ? clusterSource(named, options, parts)
      : cachedSource(createMain(named, options, parts), named, options, parts);
  return options.allowFileSelectors ? new RoutedSource(main, new FileSelectorSource(parts)) : main;
}

/** A source with copies on disk, if there are to be any. */
function cachedSource(
  source: FlagSource,
  named: SourceOption,
  { cacheDir, cacheSize, kubeconfig, kubeContext, topicPrefix }: SourceOptions,
  parts: SourceParts,
): FlagSource {
  if (cacheDir === "") return source;
  return new CachedSource({
    ...parts,
    source,
    sourceName: JSON.stringify(
      named.kind === "kubernetes"
        ? { ...named, kubeconfig, kubeContext }
        : named.kind === "upstream"
          ? { ...named, topicPrefix }
          : named,
    ),
    directory: cacheDir,
    maxBytes: cacheSize,
  });
}

function createMain(
  named: Exclude<SourceOption, { readonly kind: "kubernetes" }>,
  options: SourceOptions,
  parts: SourceParts,
): FlagSource {
  if (backplaneConfig(options) !== undefined)
    throw ProxyError.optionInvalid(
      "--backplane shares the watches of --source kubernetes between replicas; other sources have none: leave it out",
    );
  if (named.kind === "directory") {
    refuseWithoutUpstreams(options);
    return new DirectorySource({ ...parts, path: named.path });
  }
  if (parts.readsReaders === true)
    parts.context.logger.warn(
      `upstreams don't say whom FeatureFlags are shared with: the annotation ${readersAnnotation} lets nobody read here`,
    );
  return new UpstreamSource({
    ...parts,
    tierPath: parts.tierPath ?? new TierPath(parts.context.clock),
    upstreams: parseUpstreams(named.upstreams, options.topicPrefix),
    credentials: upstreamCredentials(options),
  });
}

/** The FeatureFlags of a cluster, each merged with its remote: both are shared among replicas, and copies are kept of both. */
function clusterSource(named: SourceOption, options: SourceOptions, parts: SourceParts): FlagSource {
  const { clock } = parts.context;
  refuseWithoutUpstreams(options);
  const { timing = {}, staleAfterMs } = backplaneConfig(options) === undefined ? {} : ownerWatchTiming;
  let cluster: ConnectedCluster | undefined;
  const source = new KubernetesSource({
    ...parts,
    connect: async () => {
      cluster = await connectProxyCluster(options, { clock, env: parts.env, timing });
      return cluster;
    },
    planning: { watchScope: options.watchScope },
    timeoutSeconds: Math.max(1, Math.round(options.watchTimeout / 1_000)),
    ...(staleAfterMs === undefined ? {} : { staleAfterMs }),
  });
  const language = remoteLanguage(options.remoteHosts, clock, { networks: ownAddresses(parts.env) });
  const readSecrets = remoteSecrets(() => cluster?.client, clock);
  const { maxRemotes } = options;
  const remotes = new FetchingSource({ source, language, readSecrets, maxRemotes, context: parts.context });
  const cached = cachedSource(shared(remotes, options, parts), named, options, parts);
  return new RemoteSource({ ...parts, source: cached, remotes, language });
}

/** Shared among replicas, if they are to share it. */
function shared(source: FlagSource, options: SourceOptions, parts: SourceParts): FlagSource {
  const backplane = backplaneConfig(options);
  if (backplane === undefined) return source;
  return new BackplaneSource({
    ...parts,
    source,
    backplane,
    ...(options.backplaneKeyFile === "" ? {} : { keyFile: options.backplaneKeyFile }),
  });
}

/** Whether topics may have names of files: those of a directory, and of another proxy, which refuses what it does not serve. */
export function allowsFileNames({ source }: Pick<SourceOptions, "source">): boolean {
  return /^(dir|upstream):/.test(source);
}

/**
 * The prefixes that topics have, "" for none; no list if all have none.
 *
 * @throws ProxyError OPTION_INVALID
 */
export function topicPrefixes({
  source,
  topicPrefix,
}: Pick<SourceOptions, "source" | "topicPrefix">): readonly string[] | undefined {
  if (topicPrefix === "") return undefined;
  // Without upstreams the prefix is refused when the source is made.
  if (!source.startsWith("upstream:")) return undefined;
  return parseUpstreams(source.slice("upstream:".length), topicPrefix).map(({ prefix }) => prefix);
}
