import { runHealth } from "@bunting/runtime/health";
import { agentOptionTable } from "./options.js";

// No await: the bundle is CommonJS.
void runHealth({
  name: "bunting-agent",
  table: agentOptionTable,
  addressOf: ({ managementPort, host }) => ({ port: managementPort, host, optionName: "--management-port" }),
});
