#!/usr/bin/env node
import { collectAtRest, runService } from "@bunting/runtime";
import { createOperator } from "./operator.js";
import { operatorOptionTable } from "./options.js";
import { version } from "./version.js";

// No await: the bundle is CommonJS.
void runService({
  name: "bunting-operator",
  version,
  describe: "Brings feature flags to Pods: deploys the proxy, and injects agents.",
  table: operatorOptionTable,
  run: async (options, logger, signal) => {
    const operator = await createOperator(options, logger);
    collectAtRest();
    return operator.run(signal);
  },
});
