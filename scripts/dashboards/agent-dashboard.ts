import type { Dashboard } from "./dashboard.js";
import { agentRemoteRow } from "./remote-rows.js";
import { chosen, largest, perSecond, quantile, rate, stat } from "./queries.js";

export const agentDashboard: Dashboard = {
  uid: "bunting-agent",
  title: "Bunting: agents",
  description:
    "What agents answer, how fresh their flags are, and what they refuse. docs/operate/monitoring.md explains the metrics.",
  variables: [
    { name: "namespace", metric: "bunting_agent_store_flags" },
    { name: "pod", metric: 'bunting_agent_store_flags{namespace=~"$namespace"}' },
  ],
  rows: [
    {
      title: "At a glance",
      panels: [
        stat("Agents", "Agents that are scraped.", `count(bunting_agent_store_flags{${chosen}})`),
        stat(
          "Disconnected",
          "Sources of agents that are not connected; their flags may be old.",
          `count(bunting_agent_sync_connected{${chosen}} == 0) or vector(0)`,
          { red: 1 },
        ),
        stat(
          "Oldest flags",
          "How long ago the flags of an agent were last known to be the newest: 0 while it is connected.",
          `max(bunting_agent_sync_unconfirmed_seconds{${chosen}})`,
          { unit: "s", orange: 60, red: 3600 },
        ),
        stat(
          "Without flags",
          "Sources that answer that there is no FeatureFlag.",
          `sum(bunting_agent_sync_empty{${chosen}})`,
          { orange: 1 },
        ),
        stat(
          "Rejected flags",
          "Flags that keep their previous value, because the newest can't be served.",
          `sum(bunting_agent_store_rejected_flags{${chosen}})`,
          { orange: 1 },
        ),
        stat(
          "Evaluations",
          "All answers of all agents, errors included.",
          `sum(rate(feature_flag_flagd_result_reason_total{${chosen}}[${rate}]))`,
          { unit: "reqps" },
        ),
      ],
    },
    {
      title: "Evaluations",
      panels: [
        {
          title: "By reason",
          description:
            "STALE: of flags that have not been confirmed for --stale-after. ERROR: see the next panel.",
          unit: "reqps",
          queries: [
            perSecond(
              "feature_flag_flagd_result_reason_total",
              "feature_flag_reason",
              "{{feature_flag_reason}}",
            ),
          ],
        },
        {
          title: "Errors",
          description: "Evaluations that failed, by error.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (ExceptionTypeKeyName) (rate(feature_flag_flagd_result_reason_total{${chosen}, feature_flag_reason="ERROR"}[${rate}]))`,
              legend: "{{ExceptionTypeKeyName}}",
            },
          ],
        },
        {
          title: "The flags most asked for",
          description: "Ten flags by the rate of their evaluations.",
          unit: "reqps",
          queries: [
            {
              expr: `topk(10, sum by (feature_flag_key) (rate(feature_flag_flagd_impression_total{${chosen}}[${rate}])))`,
              legend: "{{feature_flag_key}}",
            },
          ],
        },
        {
          title: "Time to answer",
          description: "Of requests over HTTP, native gRPC included.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => quantile(q, "http_server_request_duration_seconds", `p${q * 100}`)),
        },
        {
          title: "Requests being answered",
          description: "Open event streams included.",
          unit: "short",
          queries: [
            {
              expr: `sum by (http_route) (http_server_active_requests{${chosen}})`,
              legend: "{{http_route}}",
            },
          ],
        },
        {
          title: "In-process providers",
          description: "Open SyncFlags streams of providers that evaluate in process.",
          unit: "short",
          queries: [{ expr: `sum(feature_flag_flagd_sync_active_streams{${chosen}})`, legend: "streams" }],
        },
      ],
    },
    {
      title: "Freshness and sources",
      panels: [
        {
          title: "Unconfirmed flags",
          description: "The ten agents whose flags were last known to be the newest longest ago.",
          unit: "s",
          red: 3600,
          queries: [largest("bunting_agent_sync_unconfirmed_seconds", "pod, source", "{{pod}} {{source}}")],
        },
        {
          title: "Connected sources",
          description: "By protocol. Agents that fall back to flagd.sync.v1 get whole documents.",
          unit: "short",
          queries: [
            { expr: `sum by (protocol) (bunting_agent_sync_protocol{${chosen}})`, legend: "{{protocol}}" },
            { expr: `sum(bunting_agent_sync_connected{${chosen}})`, legend: "connected" },
          ],
        },
        {
          title: "Failures of sources",
          description:
            "Streams that ended, files that could not be read, connections that failed, by reason.",
          unit: "reqps",
          queries: [perSecond("bunting_agent_sync_failures_total", "reason", "{{reason}}")],
        },
        {
          title: "Documents and messages",
          description: "Received from sources.",
          unit: "reqps",
          queries: [
            perSecond("bunting_agent_sync_documents_total", "job", "documents"),
            perSecond("bunting_agent_sync_messages_total", "kind", "messages: {{kind}}"),
          ],
        },
        {
          title: "Bytes",
          description: "Received from sources, by kind of message.",
          unit: "Bps",
          queries: [perSecond("bunting_agent_sync_message_bytes_total", "kind", "{{kind}}")],
        },
        {
          title: "Answers STALE",
          description: "Sources whose flags are answered with reason STALE (--stale-after).",
          unit: "short",
          queries: [
            { expr: `sum by (namespace) (bunting_agent_sync_stale{${chosen}})`, legend: "{{namespace}}" },
          ],
        },
      ],
    },
    {
      title: "Refused and rejected",
      panels: [
        {
          title: "Rejected flags",
          description: "The ten agents with the most flags that keep their previous value.",
          unit: "short",
          queries: [largest("bunting_agent_store_rejected_flags", "pod, source", "{{pod}} {{source}}")],
        },
        {
          title: "Documents and messages refused",
          description: "As a whole; the document before is still served.",
          unit: "reqps",
          queries: [
            perSecond("bunting_agent_store_refused_documents_total", "code", "{{code}}"),
            perSecond("bunting_agent_sync_nacks_total", "reason", "nack: {{reason}}"),
            perSecond("bunting_agent_store_last_known_good_failures_total", "job", "copy not written"),
          ],
        },
        {
          title: "Connections ended, requests refused",
          description: "By limit.",
          unit: "reqps",
          queries: [
            perSecond("bunting_agent_api_connections_ended_total", "reason", "connections: {{reason}}"),
            perSecond("bunting_agent_api_requests_refused_total", "reason", "requests: {{reason}}"),
          ],
        },
      ],
    },
    agentRemoteRow,
    {
      title: "Memory and time",
      panels: [
        {
          title: "Memory of the container",
          description:
            "Working set of the sidecar `flagd`, as the kubelet counts it: the ten largest. Its limit is 64Mi by default.",
          unit: "bytes",
          queries: [
            {
              expr: `topk(10, max by (pod) (container_memory_working_set_bytes{${chosen}, container="flagd"}))`,
              legend: "{{pod}}",
            },
          ],
        },
        {
          title: "Documents",
          description:
            "The ten largest documents that are served. docs/operate/agent.md says which limit of memory each size takes.",
          unit: "bytes",
          queries: [largest("bunting_agent_store_document_bytes", "pod, source", "{{pod}} {{source}}")],
        },
        {
          title: "Peer memory",
          description: "How much of --peer-memory applications use: the ten fullest.",
          unit: "percentunit",
          red: 0.8,
          queries: [
            {
              expr: `topk(10, max by (pod) (bunting_agent_api_peer_memory_bytes{${chosen}} / bunting_agent_api_peer_memory_budget_bytes{${chosen}}))`,
              legend: "{{pod}}",
            },
          ],
        },
        {
          title: "Applying a document",
          description: "How long it blocked the event loop.",
          unit: "s",
          queries: [quantile(0.99, "bunting_agent_store_update_seconds", "p99")],
        },
      ],
    },
  ],
};
