import type { Dashboard } from "./dashboard.js";
import { largest, perSecond, sum } from "./queries.js";

/** Of a proxy that reads remote flag providers. */
export const proxyRemoteRow: Dashboard["rows"][number] = {
  title: "Remote flag providers",
  panels: [
    {
      title: "State",
      description:
        "FeatureFlags whose remote this proxy reads, by state. All but synced and starting need a look: bunting status and the FeatureFlag's condition RemoteSynced say why. None without --remote-hosts.",
      unit: "short",
      queries: [sum("bunting_proxy_remote_topics", "state", "{{state}}")],
    },
    {
      title: "Answers",
      description:
        "What remotes answered, by outcome. With a Redis one replica asks for all; failed ones are asked again sooner than their interval says.",
      unit: "reqps",
      queries: [perSecond("bunting_proxy_remote_answers_total", "outcome", "{{outcome}}")],
    },
    {
      title: "Oldest answer",
      description: "Time since the remote that has been silent longest has answered.",
      unit: "s",
      queries: [largest("bunting_proxy_remote_oldest_answer_seconds", "pod", "{{pod}}")],
    },
    {
      title: "Served with flags of a remote",
      description: "FeatureFlags, by replica: all of them serve the same, whoever reads the remotes.",
      unit: "short",
      queries: [sum("bunting_proxy_remote_merged_topics", "pod", "{{pod}}")],
    },
  ],
};

/** Of agents with sources of provider remote. */
export const agentRemoteRow: Dashboard["rows"][number] = {
  title: "Remotes that agents read themselves",
  panels: [
    {
      title: "State",
      description:
        "Sources of provider remote, by state. /readyz of the agent says why one is not synced. None where a proxy reads remotes.",
      unit: "short",
      queries: [sum("bunting_agent_remote_state", "state", "{{state}}")],
    },
    {
      title: "Answers",
      description: "What these remotes answered, by outcome.",
      unit: "reqps",
      queries: [perSecond("bunting_agent_remote_answers_total", "outcome", "{{outcome}}")],
    },
    {
      title: "Flags",
      description: "By the side that they are of: the file of the source, or its remote.",
      unit: "short",
      queries: [sum("bunting_agent_remote_flags", "side", "{{side}}")],
    },
  ],
};
