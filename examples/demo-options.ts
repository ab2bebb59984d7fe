import { option, port, text, toggle, type OptionsOf } from "@bunting/runtime";

const group = "Ports";

/** The ports of the demonstration: the agent's sync and OFREP ports are moved, as the proxy has the usual ones. */
export const demoOptionTable = {
  proxyPort: option(port, 8015, "The proxy's sync port.", { group, env: ["BUNTING_DEMO_PROXY_PORT"] }),
  proxyManagementPort: option(port, 8016, "The proxy's management port.", {
    group,
    env: ["BUNTING_DEMO_PROXY_MANAGEMENT_PORT"],
  }),
  agentPort: option(port, 8013, "The agent's evaluation port.", { group, env: ["BUNTING_DEMO_AGENT_PORT"] }),
  agentManagementPort: option(port, 8014, "The agent's management port.", {
    group,
    env: ["BUNTING_DEMO_AGENT_MANAGEMENT_PORT"],
  }),
  agentSyncPort: option(port, 8025, "The agent's sync port.", {
    group,
    env: ["BUNTING_DEMO_AGENT_SYNC_PORT"],
  }),
  agentOfrepPort: option(port, 8026, "The agent's OFREP port.", {
    group,
    env: ["BUNTING_DEMO_AGENT_OFREP_PORT"],
  }),
  flags: option(
    text,
    ".bunting/flags",
    "The folder to which the sample flags are copied, over what is there, to be edited; relative to the repository.",
    { group: "Demonstration", env: ["BUNTING_DEMO_FLAGS"] },
  ),
  once: option(toggle, false, "End after the edit has arrived, instead of staying up.", {
    group: "Demonstration",
    env: [],
  }),
} as const;

export type DemoOptions = OptionsOf<typeof demoOptionTable>;
