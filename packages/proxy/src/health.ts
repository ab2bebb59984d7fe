import { runHealth } from "@bunting/runtime/health";
import { proxyOptionTable } from "./options.js";

// No await: the bundle is CommonJS.
void runHealth({
  name: "bunting-proxy",
  table: proxyOptionTable,
  addressOf: ({ managementPort, managementTls, host }) => ({
    port: managementPort,
    host,
    usesTls: managementTls === "on",
    optionName: "--management-port",
  }),
});
