import type { Dashboard } from "./dashboard.js";
import { perSecond, sum } from "./queries.js";

/** Of a proxy that is fed by others. */
export const upstreamRow: Dashboard["rows"][number] = {
  title: "Proxies that feed this one",
  panels: [
    {
      title: "Open streams",
      description: "From other proxies. None for flags from a cluster or a directory.",
      unit: "short",
      queries: [sum("bunting_proxy_upstream_streams", "pod", "{{pod}}")],
    },
    {
      title: "What they bring",
      description:
        "Bytes by kind of message. Edits are deltas; many snapshots mean that this proxy or the one above begins anew again and again.",
      unit: "Bps",
      queries: [perSecond("bunting_proxy_upstream_received_bytes_total", "kind", "{{kind}}")],
    },
    {
      title: "Streams that failed",
      description: "Ended or not opened, by reason. The next upstream is tried at once, and topics resume.",
      unit: "reqps",
      queries: [perSecond("bunting_proxy_upstream_failures_total", "reason", "{{reason}}")],
    },
    {
      title: "Messages and refusals",
      description: "By kind. topic_error: the upstream refuses a topic; the log and /status say why.",
      unit: "reqps",
      queries: [perSecond("bunting_proxy_upstream_messages_total", "kind", "{{kind}}")],
    },
  ],
};
