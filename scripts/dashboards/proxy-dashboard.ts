import { backplaneRow } from "./backplane-row.js";
import type { Dashboard, Query } from "./dashboard.js";
import { chosen, max, perSecond, quantile, rate, stat, sum } from "./queries.js";
import { proxyRemoteRow } from "./remote-rows.js";
import { upstreamRow } from "./upstream-row.js";

export const proxyDashboard: Dashboard = {
  uid: "bunting-proxy",
  title: "Bunting: proxy",
  description:
    "Whether every subscriber has the newest flags, and what keeps one from it. docs/operate/monitoring.md explains the metrics.",
  variables: [
    { name: "namespace", metric: "bunting_proxy_topic_topics" },
    { name: "pod", metric: 'bunting_proxy_topic_topics{namespace=~"$namespace"}' },
  ],
  rows: [
    {
      title: "At a glance",
      panels: [
        stat(
          "Proxies",
          "Replicas that are scraped.",
          `count(bunting_proxy_service_peer_memory_bytes{${chosen}})`,
        ),
        stat(
          "Streams",
          "Of all clients and both protocols: one for each source of an agent, and for up to 24 topics of another proxy.",
          `sum(sync_active_streams{${chosen}})`,
        ),
        stat(
          "Stale topics",
          "FeatureFlags that are served as they were last, because they can't be watched or are invalid.",
          `sum(bunting_proxy_topic_topics{${chosen}, state="stale"})`,
          { red: 1 },
        ),
        stat(
          "Subscribers without flags",
          "They wait for a FeatureFlag that does not exist, is not read yet, or was invalid already when the proxy started.",
          `sum(bunting_proxy_topic_held_subscribers{${chosen}})`,
          { orange: 1 },
        ),
        stat(
          "Rejected flags",
          "Flags that agents can't serve and keep at their previous value, counted for each agent.",
          `sum(bunting_proxy_subscriber_rejected_flags{${chosen}})`,
          { orange: 1 },
        ),
        stat(
          "Convergence, 99 %",
          "How long it took, for most edits of the last hour, until 99 % of the subscribers had them.",
          `histogram_quantile(0.95, sum by (le) (rate(bunting_proxy_topic_convergence_seconds_bucket{${chosen}, share="0.99"}[1h])))`,
          { unit: "s", orange: 1, red: 2.5 },
        ),
      ],
    },
    {
      title: "Flags and their way to subscribers",
      panels: [
        {
          title: "Topics by state",
          description: "starting: not read yet. missing: no such FeatureFlag. stale: served as it was last.",
          unit: "short",
          queries: [sum("bunting_proxy_topic_topics", "state", "{{state}}")],
        },
        {
          title: "Streams and subscriptions",
          description:
            "By proxy: streams of both protocols, and the subscriptions of agents and other proxies on theirs. After a restart they come back to all replicas.",
          unit: "short",
          queries: [
            sum("sync_active_streams", "pod", "{{pod}} streams"),
            sum("bunting_proxy_subscriber_subscriptions", "pod", "{{pod}} subscriptions of bunting.sync.v1"),
          ],
        },
        {
          title: "Convergence",
          description:
            "From when the source noticed an edit until half, 99 % and all of the subscribers had it; of 95 % of the edits.",
          unit: "s",
          red: 2.5,
          queries: ["0.5", "0.99", "1"].map((share) =>
            quantile(0.95, "bunting_proxy_topic_convergence_seconds", `share ${share}`, `share="${share}"`),
          ),
        },
        {
          title: "Edits",
          description: "Versions that became the newest of a topic, and documents that can't be served.",
          unit: "reqps",
          queries: [
            perSecond("bunting_proxy_snapshot_published_total", "pod", "{{pod}}"),
            perSecond("bunting_proxy_source_invalid_documents_total", "pod", "{{pod}} invalid"),
          ],
        },
        {
          title: "Fan-out delay",
          description: "From the publication of a version until it was written to one subscriber.",
          unit: "s",
          queries: [0.5, 0.99].map((q) =>
            quantile(q, "bunting_proxy_subscriber_fan_out_seconds", `p${q * 100}`),
          ),
        },
        {
          title: "Fan-out bytes",
          description:
            "Messages of bunting.sync.v1 by kind: deltas cost little, snapshots are whole documents.",
          unit: "Bps",
          queries: [perSecond("bunting_proxy_subscriber_message_bytes_total", "kind", "{{kind}}")],
        },
        {
          title: "Messages",
          description: "Messages of bunting.sync.v1 by kind, and whole documents of flagd.sync.v1 (frames).",
          unit: "reqps",
          queries: [
            perSecond("bunting_proxy_subscriber_messages_total", "kind", "{{kind}}"),
            perSecond("bunting_proxy_subscriber_frames_written_total", "job", "frames"),
          ],
        },
        {
          title: "Slow subscribers",
          description:
            "Versions skipped because a newer one was there, streams ended because nothing was read, missing acknowledgements.",
          unit: "reqps",
          queries: [
            perSecond("bunting_proxy_subscriber_conflated_total", "pod", "{{pod}} conflated"),
            perSecond("bunting_proxy_subscriber_stalled_total", "pod", "{{pod}} stalled"),
            perSecond("bunting_proxy_subscriber_ack_timeouts_total", "pod", "{{pod}} ack timeout"),
          ],
        },
        {
          title: "Problems of agents",
          description:
            "Flags rejected, documents of which nothing was applied, and agents that hold a newer version than the proxy.",
          unit: "short",
          queries: [
            sum("bunting_proxy_subscriber_rejected_flags", "pod", "{{pod}} rejected flags"),
            sum("bunting_proxy_subscriber_held_back", "pod", "{{pod}} held back"),
            {
              expr: `sum by (kind) (increase(bunting_proxy_subscriber_nacks_total{${chosen}}[${rate}]))`,
              legend: "nacks: {{kind}}",
            },
          ],
        },
      ],
    },
    {
      title: "Watches on the API server",
      panels: [
        {
          title: "Open watches",
          description: "By what they watch. None for flags from a directory.",
          unit: "short",
          queries: [sum("bunting_proxy_source_watches", "pod, scope", "{{pod}} {{scope}}")],
        },
        {
          title: "Silence",
          description:
            "The longest time without an event on an open watch. A bookmark comes every minute; from 200 s on the watch is opened again.",
          unit: "s",
          orange: 120,
          red: 300,
          queries: [max("bunting_proxy_source_watch_silence_seconds", "pod", "{{pod}}")],
        },
        {
          title: "Relists",
          description:
            "Consistent reads by reason. start and closed are normal; failed, silent and expired are not.",
          unit: "reqps",
          queries: [perSecond("bunting_proxy_source_relists_total", "reason", "{{reason}}")],
        },
        {
          title: "Errors",
          description: "Reads and watches that failed, by kind. The last flags are still served.",
          unit: "reqps",
          queries: [perSecond("bunting_proxy_source_errors_total", "kind", "{{kind}}")],
        },
        {
          title: "Events",
          description: "Events of watches by type, including those of initial reads.",
          unit: "reqps",
          queries: [perSecond("bunting_proxy_source_watch_events_total", "type", "{{type}}")],
        },
        {
          title: "Polled and waiting topics",
          description:
            "Polled because RBAC allows no wider watch; waiting because too many are asked for that do not exist.",
          unit: "short",
          queries: [
            sum("bunting_proxy_source_unwatched_topics", "pod", "{{pod}} polled"),
            sum("bunting_proxy_source_waiting_topics", "pod", "{{pod}} waiting"),
          ],
        },
      ],
    },
    proxyRemoteRow,
    upstreamRow,
    backplaneRow,
    {
      title: "Limits that were hit",
      panels: [
        {
          title: "Connections ended",
          description: "By reason; docs/operate/limits.md has them all.",
          unit: "reqps",
          queries: [perSecond("bunting_proxy_service_connections_ended_total", "reason", "{{reason}}")],
        },
        {
          title: "Requests and subscriptions refused",
          description: "By reason.",
          unit: "reqps",
          queries: [
            perSecond("bunting_proxy_service_refusals_total", "reason", "{{reason}}"),
            perSecond("bunting_proxy_service_requests_refused_total", "reason", "{{reason}}"),
          ],
        },
        {
          title: "Waiting for their turn",
          description:
            "Streams that wait for their first flags, and short calls that wait because their connection makes many.",
          unit: "short",
          queries: [
            sum("bunting_proxy_subscriber_queued", "pod", "{{pod}} first flags"),
            sum("bunting_proxy_service_calls_waiting", "pod", "{{pod}} calls"),
          ],
        },
        {
          title: "Slowed down",
          description:
            "Calls delayed, connections not read for a turn of the event loop, connections with as many streams as they may have.",
          unit: "reqps",
          queries: [
            perSecond("bunting_proxy_service_calls_delayed_total", "pod", "{{pod}} calls"),
            perSecond("bunting_proxy_service_reading_held_total", "pod", "{{pod}} reading held"),
            perSecond("bunting_proxy_service_stream_limit_total", "pod", "{{pod}} stream limit"),
          ],
        },
        {
          title: "Peer memory",
          description:
            "How much of --peer-memory clients use. Beyond it, connections are ended and new ones refused.",
          unit: "percentunit",
          orange: 0.5,
          red: 0.8,
          queries: [
            {
              expr: `max by (pod) (bunting_proxy_service_peer_memory_bytes{${chosen}} / bunting_proxy_service_peer_memory_budget_bytes{${chosen}})`,
              legend: "{{pod}}",
            },
          ],
        },
      ],
    },
    {
      title: "Process",
      panels: [
        {
          title: "Memory",
          description: "Resident memory, and V8's heap.",
          unit: "bytes",
          queries: [
            max("process_resident_memory_bytes", "pod", "{{pod}} resident"),
            max("nodejs_heap_size_used_bytes", "pod", "{{pod}} heap"),
          ].map(ofProxies),
        },
        {
          title: "Processor",
          description: "Of one core: the proxy's own thread can't use more.",
          unit: "percentunit",
          orange: 0.8,
          queries: [perSecond("process_cpu_seconds_total", "pod", "{{pod}}")].map(ofProxies),
        },
        {
          title: "Event loop lag",
          description: "How late the event loop runs; every edit is late by as much.",
          unit: "s",
          red: 0.5,
          queries: [
            max("nodejs_eventloop_lag_p99_seconds", "pod", "{{pod}} p99"),
            max("nodejs_eventloop_lag_p50_seconds", "pod", "{{pod}} p50"),
          ].map(ofProxies),
        },
      ],
    },
  ],
};

/** All processes of node with prom-client have these metrics. */
function ofProxies({ expr, legend }: Query): Query {
  return {
    expr: `${expr} and on (pod) max by (pod) (bunting_proxy_service_peer_memory_bytes{${chosen}})`,
    legend,
  };
}
