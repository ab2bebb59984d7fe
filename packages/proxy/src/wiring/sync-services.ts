import type { Method, RpcStatus, StartQueue, TransportStream } from "@bunting/rpc";
import type { Access } from "../access/access.js";
import type { AgentSync } from "../service/bunting-sync-v1/agent-sync.js";
import type { ConnectionAge } from "../service/connection-age.js";
import { flagdSyncService, legacySyncService } from "../service/flagd-sync-v1/flagd-sync-service.js";
import type { FlagSource, ListPeer, SourceFlags, SourceListName } from "../source/flag-source.js";
import type { TierPath } from "../source/upstream/tier-path.js";
import { LeftBehind } from "../subscriber/left-behind.js";
import type { ListFollower } from "../subscriber/list-follower.js";
import type { TopicRegistry } from "../topic/topic-registry.js";
import type { ProxyWiring } from "./proxy-wiring.js";

/** Time that a drained connection has to send its last bytes. */
export const drainGraceMs = 1_000;

export interface SyncServices {
  readonly methods: readonly Method[];
  readonly programs: AgentSync["programs"];
  readonly leftBehind: LeftBehind;
  readonly followers: () => Iterable<ListFollower>;
  /**
   * Sends a stream the newest flags, then ends it. A call with one answer is about to end by itself, and is left to do so: its client would take
   * UNAVAILABLE for the answer. False if it carries no flags.
   */
  readonly drain: (stream: TransportStream, status: RpcStatus) => boolean;
}

export interface SyncServicesParts {
  readonly source: FlagSource;
  readonly topics: TopicRegistry;
  readonly access: Access;
  readonly tierPath: TierPath;
}

/** The services that serve topics to agents, to other proxies, and to providers. */
export function syncServices(
  wiring: ProxyWiring,
  { source, topics, access, tierPath }: SyncServicesParts,
): SyncServices {
  const { options, parts, context } = wiring;
  const { allowFileSelectors } = options;
  const leftBehind = new LeftBehind(context);
  context.metrics.readLeftBehind(() => leftBehind.all.size);
  const prefixes = parts.topicPrefixes(options);
  const selectable = { allowFileSelectors, prefixes, allowFileNames: parts.allowsFileNames(options) };
  const subscribing = {
    topics,
    access,
    parseSelector: (selector: string) => parts.parseSelector(selector, selectable),
    context,
    startQueue: startQueueOf(wiring),
    leftBehind,
    followList: (list: SourceListName, listener: (flags: SourceFlags) => void, peer?: ListPeer) =>
      source.followList?.(list, listener, peer) ?? (() => undefined),
  };
  const agentSync = new parts.AgentSync({ subscribing, tierPath, ackTimeoutMs: options.ackTimeout });
  const flagSync = new parts.FlagSync({ subscribing, compresses: options.compression === "auto" });
  const methods = [...agentSync.methods, ...flagdSyncService(flagSync), ...legacySyncService(flagSync)];
  const answered = new Set(methods.filter(({ kind }) => kind === "unary").map(({ path }) => path));
  return {
    methods,
    programs: agentSync.programs,
    leftBehind,
    followers: () => agentSync.followers(),
    drain: (stream, status) =>
      answered.has(stream.path) || agentSync.drain(stream, status) || flagSync.drain(stream, status),
  };
}

/** Undefined if first snapshots are not to wait. */
function startQueueOf({ options, parts, context }: ProxyWiring): StartQueue | undefined {
  const { firstSnapshotRate: perSecond, firstSnapshotBurst: burst } = options;
  if (perSecond === 0) return undefined;
  return new parts.StartQueue({
    perSecond,
    burst,
    clock: context.clock,
    onWaiting: (delta) => context.metrics.queuedStarts(delta),
  });
}

/** Undefined if connections may get as old as they like. */
export function connectionAgeOf(
  { options, parts, context }: ProxyWiring,
  services: SyncServices,
): ConnectionAge | undefined {
  const { maxConnectionAge: maxAgeMs } = options;
  if (maxAgeMs === 0) return undefined;
  return new parts.ConnectionAge({
    maxAgeMs,
    graceMs: drainGraceMs,
    context,
    drain: (stream, status) => {
      if (!services.drain(stream, status)) stream.end(status);
    },
  });
}
