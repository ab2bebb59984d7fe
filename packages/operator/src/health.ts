import { runHealth } from "@bunting/runtime/health";
import { operatorOptionTable } from "./options.js";

// No await: the bundle is CommonJS.
void runHealth({
  name: "bunting-operator",
  table: operatorOptionTable,
  addressOf: ({ healthProbeBindAddress: address }) => ({
    ...(address === "off" ? { port: 0 } : address),
    optionName: "--health-probe-bind-address",
  }),
});
