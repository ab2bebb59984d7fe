import type { CurrentDocument } from "../sync/current-document.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { SyncMetrics } from "../sync/sync-metrics.js";
import type { SourceRemote } from "../sync/sync-source.js";
import type { AgentWiring } from "./agent-wiring.js";
import type { StoredFlags } from "./stored-flags.js";

type Metrics = AgentWiring["context"]["metrics"];
type RemoteMetrics = ReturnType<SyncMetrics["remotes"]>;

/** Metrics whose gauges of sources are recorded only while that is so: gauges go by places, which the sources of another generation have as well. */
export function recordedWhile(metrics: Metrics, isServed: () => boolean): Metrics {
  const held =
    <Args extends readonly unknown[]>(record: (...args: Args) => void) =>
    (...args: Args): void => {
      if (isServed()) record(...args);
    };
  return {
    ...metrics,
    remotes: () => {
      const remotes = metrics.remotes();
      const { remoteState, remoteFlags } = remotes;
      return { ...remotes, remoteState: held(remoteState), remoteFlags: held(remoteFlags) };
    },
    connected: held(metrics.connected),
    empty: held(metrics.empty),
    stale: held(metrics.stale),
    documentConfirmed: held(metrics.documentConfirmed),
    speaks: held(metrics.speaks),
    documentBytes: held(metrics.documentBytes),
    flagsServed: held(metrics.flagsServed),
    flagsRejected: held(metrics.flagsRejected),
  };
}

export interface ReportedPlaces {
  readonly served: readonly SourceConfig[];
  /** The sources that are served no more, or will not be. */
  readonly before: readonly SourceConfig[];
  /** The flags of the sources that are served. */
  readonly stored: StoredFlags;
}

/** What metrics say of sources goes by their places, which those of another generation had as well. */
export function reportPlaces(metrics: Metrics, { served, before, stored }: ReportedPlaces): void {
  const { store, freshness, sources } = stored;
  metrics.sources(served);
  for (const { sourceIndex, provider } of before) {
    if (sourceIndex >= served.length) endPlace(metrics, sourceIndex);
    if (provider === "remote") endRemote(metrics.remotes(), sourceIndex);
  }
  metrics.flagsServed(store.flags().length);
  for (const source of sources) {
    const { sourceIndex, state, isEmpty = false, protocol, lastUpdate, remote } = source.status();
    const current = store.currentDocument(sourceIndex);
    metrics.stale(sourceIndex, freshness.isStale(sourceIndex));
    metrics.connected(sourceIndex, state === "connected");
    metrics.empty(sourceIndex, isEmpty);
    metrics.documentBytes(sourceIndex, current?.layout.bytes.length ?? 0);
    metrics.flagsRejected(sourceIndex, current?.rejectedFlags.length ?? 0);
    metrics.speaks(sourceIndex, protocol ?? "");
    metrics.documentConfirmed(sourceIndex, lastUpdate ?? null);
    if (remote !== undefined) reportRemote(metrics.remotes(), sourceIndex, remote, current);
  }
}

/** Of a place that no source has any more. */
function endPlace(metrics: Metrics, sourceIndex: number): void {
  metrics.connected(sourceIndex, null);
  metrics.empty(sourceIndex, null);
  metrics.stale(sourceIndex, null);
  metrics.documentBytes(sourceIndex, null);
  metrics.flagsRejected(sourceIndex, null);
  metrics.documentConfirmed(sourceIndex, null);
  metrics.speaks(sourceIndex, "");
}

function reportRemote(
  { remoteState, remoteFlags }: RemoteMetrics,
  sourceIndex: number,
  { state, flags }: SourceRemote,
  current: CurrentDocument | undefined,
): void {
  remoteState(sourceIndex, state ?? "");
  if (current === undefined) return;
  // Without the remote's, all flags are of the file.
  remoteFlags(sourceIndex, "local", flags?.local ?? current.layout.entries.size);
  remoteFlags(sourceIndex, "remote", flags?.remote ?? 0);
}

function endRemote({ remoteState, remoteFlags }: RemoteMetrics, sourceIndex: number): void {
  remoteState(sourceIndex, "");
  for (const side of ["local", "remote"] as const) remoteFlags(sourceIndex, side, null);
}
