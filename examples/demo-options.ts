import { option, port, text, toggle, type OptionsOf } from "@bunting/runtime";

const group = "Ports";

/** The ports of the demonstration: the agent's sync and OFREP ports are moved, as the proxy has the usual ones. */
export const demoOptionTable = {
  proxyPort: option({
    type: port,
    default: 8015,
    describe: "The proxy's sync port.",
    group,
    env: ["BUNTING_DEMO_PROXY_PORT"],
  }),
  proxyManagementPort: option({
    type: port,
    default: 8016,
    describe: "The proxy's management port.",
    group,
    env: ["BUNTING_DEMO_PROXY_MANAGEMENT_PORT"],
  }),
  agentPort: option({
    type: port,
    default: 8013,
    describe: "The agent's evaluation port.",
    group,
    env: ["BUNTING_DEMO_AGENT_PORT"],
  }),
  agentManagementPort: option({
    type: port,
    default: 8014,
    describe: "The agent's management port.",
    group,
    env: ["BUNTING_DEMO_AGENT_MANAGEMENT_PORT"],
  }),
  agentSyncPort: option({
    type: port,
    default: 8025,
    describe: "The agent's sync port.",
    group,
    env: ["BUNTING_DEMO_AGENT_SYNC_PORT"],
  }),
  agentOfrepPort: option({
    type: port,
    default: 8026,
    describe: "The agent's OFREP port.",
    group,
    env: ["BUNTING_DEMO_AGENT_OFREP_PORT"],
  }),
  flags: option({
    type: text,
    default: ".bunting/flags",
    describe:
      "The folder to which the sample flags are copied, over what is there, to be edited; relative to the repository.",
    group: "Demonstration",
    env: ["BUNTING_DEMO_FLAGS"],
  }),
  once: option({
    type: toggle,
    default: false,
    describe: "End after the edit has arrived, instead of staying up.",
    group: "Demonstration",
    env: [],
  }),
} as const;

export type DemoOptions = OptionsOf<typeof demoOptionTable>;
