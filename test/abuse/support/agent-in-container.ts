import { MemoryCgroup } from "../../support/memory-cgroup.js";
import { AttackedAgent } from "./attacked-agent.js";
import { mebibyte } from "./vitals.js";

/** The limit that the operator gives the agent's container. */
const limitBytes = 64 * mebibyte;

export interface AgentInContainer {
  readonly agent: () => AttackedAgent;
  readonly group: () => MemoryCgroup;
}

/** Gives each test of a suite an agent in the memory of its container. The suite is skipped where the machine has no memory cgroups. */
export function useAgentInContainer(): AgentInContainer {
  let group: MemoryCgroup;
  let agent: AttackedAgent;
  before(function () {
    if (!MemoryCgroup.isAvailable) this.skip();
  });
  beforeEach(async () => {
    group = new MemoryCgroup(limitBytes);
    agent = await AttackedAgent.startIn(group);
  });
  afterEach(async () => {
    await agent.stop();
    await group.remove();
  });
  return { agent: () => agent, group: () => group };
}
