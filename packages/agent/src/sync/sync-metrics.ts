import {
  booleanGauge,
  counter,
  defineMetrics,
  Gauge,
  gauge,
  label,
  observed,
  sizedCounter,
  stateSet,
  type MetricsOf,
  type Registry,
} from "@bunting/runtime";
import type { SyncResponse } from "@bunting/sync-client/messages";
import { shownUri } from "./shown-uri.js";
import type { SourceConfig } from "./source-config.js";
import { listStates } from "./source-list.js";
import { syncProtocols } from "./sync-protocol.js";

/** Sources are identified by their place in the list. */
const source = label<number>("source");

/** Metrics of an agent that reads remotes itself, as the proxy's `bunting_proxy_remote_*`. */
const agentRemoteMetrics = defineMetrics({
  remoteState: stateSet(
    "bunting_agent_remote_state",
    "1 for the state of the remote of a source of provider remote: starting, synced, stale (no answer for three intervals), never (no answer so far), forbidden, held (it takes all flags away).",
    ["state", ["starting", "synced", "stale", "never", "forbidden", "held"]],
    source,
  ),
  remoteFlags: gauge(
    "bunting_agent_remote_flags",
    "Flags of a source of provider remote that are served, by the side that they are of: local (the file) or remote.",
    source,
    label<"local" | "remote">("side", "local", "remote"),
  ),
  remoteAnswer: counter(
    "bunting_agent_remote_answers_total",
    "What the remote of a source of provider remote answered, by outcome: answered (taken, or nothing new), failed, forbidden, emptied, overdue.",
    source,
    label<"answered" | "failed" | "forbidden" | "emptied" | "overdue">("outcome"),
  ),
});

export type AgentRemoteMetrics = MetricsOf<typeof agentRemoteMetrics>;

/** The kinds of messages, of which those for proxies are unknown to agents; `document` is the only one of flagd.sync.v1. */
export type MessageKind = "document" | Exclude<SyncResponse["kind"], "tier" | "history">;

const sourceMetrics = defineMetrics({
  connected: booleanGauge(
    "bunting_agent_sync_connected",
    "1 while the source is connected, 0 while it is not and its flags may be stale.",
    source,
  ),
  empty: booleanGauge(
    "bunting_agent_sync_empty",
    "1 while the source answers, but has no flags: its FeatureFlag is missing or was deleted. The previous flags, if any, are still served.",
    source,
  ),
  stale: booleanGauge(
    "bunting_agent_sync_stale",
    "1 while the values of the source's flags are answered with reason STALE (--stale-after).",
    source,
  ),
  readUnconfirmed: observed<Iterable<readonly [sourceIndex: number, ms: number]>>(
    [],
    [
      {
        name: "bunting_agent_sync_unconfirmed_seconds",
        help: "Seconds since the flags of the source were last known to be the newest: 0 while it is connected and its newest document is served, since the start before it was.",
        label: source.name,
        of: (unconfirmed) => unconfirmed,
      },
    ],
  ),
  /** A document was taken over, or is known to be the newest; the value is when, in ms since the epoch. */
  documentConfirmed: gauge(
    "bunting_agent_sync_last_document_timestamp_seconds",
    "When a document of the source was taken over or confirmed as the newest last, in seconds since the epoch.",
    source,
  ),
  /** Taken over or refused. */
  documentReceived: counter(
    "bunting_agent_sync_documents_total",
    "Documents received from the source.",
    source,
  ),
  listState: stateSet(
    "bunting_agent_sync_list",
    "Only with --source-list: 1 for how the agent is with its list of FeatureFlags: untold by any proxy, followed, older if the Pod is older than its FeatureFlagSource, or unusable.",
    ["state", listStates],
  ),
  listChanged: counter(
    "bunting_agent_sync_list_changes_total",
    "Changes of the sources to those of a list, without a restart.",
  ),
  speaks: stateSet(
    "bunting_agent_sync_protocol",
    "1 for the protocol used with the source, now or last: bunting.sync.v1 or flagd.sync.v1.",
    ["protocol", syncProtocols],
    source,
  ),
  messageReceived: sizedCounter(
    [
      "bunting_agent_sync_messages_total",
      "Messages received from the source; each message of flagd.sync.v1 is of kind document.",
    ],
    ["bunting_agent_sync_message_bytes_total", "Bytes of the messages received from the source."],
    source,
    label<MessageKind>("kind"),
  ),
  nacked: counter(
    "bunting_agent_sync_nacks_total",
    "Messages of the proxy that were not applied: refused, or mismatch where a delta does not start from the document that is held.",
    source,
    label<"refused" | "mismatch">("reason"),
  ),
  /** `reason` is one of a small set of words. */
  sourceFailed: counter(
    "bunting_agent_sync_failures_total",
    "Streams of the source that ended, files that could not be read, connections that failed, documents that were refused.",
    source,
    label<string>("reason"),
  ),
  streamRenewed: counter(
    "bunting_agent_sync_stream_renewals_total",
    "Streams opened because the token file of the source has a newer token: taken_over from the stream before, or failed, so that it went on with the token before.",
    source,
    label<"taken_over" | "failed">("result"),
  ),
});

/** What the sync stage counts. */
export interface SyncMetrics extends MetricsOf<typeof sourceMetrics> {
  /** The sources, which other metrics know by their place in the list only. */
  sources(configs: readonly Pick<SourceConfig, "sourceIndex" | "provider" | "uri" | "selector">[]): void;
  /** Those of watches of the API server: an agent without any does not have them. */
  watches(): FeatureFlagWatchMetrics;
  /** Those of remotes, likewise. */
  remotes(): AgentRemoteMetrics;
}

export function syncMetrics(registry?: Registry): SyncMetrics {
  let watches: FeatureFlagWatchMetrics | undefined;
  let remotes: AgentRemoteMetrics | undefined;
  const info = new Gauge({
    name: "bunting_agent_sync_source_info",
    help: "1 for each source: what the number of a source means that other metrics have as their label.",
    labelNames: [source.name, "provider", "uri", "selector"],
    registers: registry === undefined ? [] : [registry],
  });
  return {
    ...sourceMetrics.create(registry),
    sources: (configs) => {
      info.reset();
      for (const { sourceIndex, provider, uri, selector } of configs)
        info.set({ source: sourceIndex, provider, uri: shownUri(uri), selector }, 1);
    },
    watches: () => (watches ??= featureFlagWatchMetrics.create(registry)),
    remotes: () => (remotes ??= agentRemoteMetrics.create(registry)),
  };
}

/** Metrics of an agent that watches the API server itself, as the proxy's `bunting_proxy_source_*`. Label values are of a small set. */
export const featureFlagWatchMetrics = defineMetrics({
  relisted: counter(
    "bunting_agent_source_relists_total",
    "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s); with a source of provider kubernetes.",
    label<string>("reason"),
  ),
  watchEvent: counter(
    "bunting_agent_source_watch_events_total",
    "Events of watches, by type, including those of initial reads; with a source of provider kubernetes.",
    label<string>("type"),
  ),
  watchFailed: counter(
    "bunting_agent_source_errors_total",
    "Times a FeatureFlag could not be read or watched, by kind; the last flags are still served. With a source of provider kubernetes.",
    label<string>("kind"),
  ),
});
export type FeatureFlagWatchMetrics = MetricsOf<typeof featureFlagWatchMetrics>;
