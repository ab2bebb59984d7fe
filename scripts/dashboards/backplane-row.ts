import type { Dashboard } from "./dashboard.js";
import { perSecond, series, sum } from "./queries.js";

/** Of replicas that share a Redis. */
export const backplaneRow: Dashboard["rows"][number] = {
  title: "Replicas that share a Redis",
  panels: [
    {
      title: "State",
      description:
        "Replicas by state. Degraded and recovering ones watch for themselves, because Redis is away or was until lately. None without --backplane.",
      unit: "short",
      queries: [sum("bunting_proxy_backplane_state", "state", "{{state}}")],
    },
    {
      title: "Who watches",
      description:
        "The owner, which watches for all, and topics that a replica watches directly although the owner should: none when all is well.",
      unit: "short",
      queries: [
        sum("bunting_proxy_backplane_owner", "pod", "{{pod}} is the owner"),
        {
          expr: `sum by (pod) (${series("bunting_proxy_backplane_topics", 'role="direct"')})`,
          legend: "{{pod}} directly",
        },
      ],
    },
    {
      title: "Lease of the owner",
      description: "Taken, lost, and given up because nothing could be read.",
      unit: "reqps",
      queries: [perSecond("bunting_proxy_backplane_leases_total", "event", "{{event}}")],
    },
    {
      title: "Records",
      description:
        "Written and confirmed by owners; writes that failed and records that can't be used, by code.",
      unit: "reqps",
      queries: [
        perSecond("bunting_proxy_backplane_records_total", "kind", "{{kind}}"),
        perSecond("bunting_proxy_backplane_write_failures_total", "code", "failed: {{code}}"),
        perSecond("bunting_proxy_backplane_refused_records_total", "code", "refused: {{code}}"),
      ],
    },
  ],
};
