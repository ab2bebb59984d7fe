#!/usr/bin/env node
import { KubeError } from "@bunting/kube";
import { createLogger, endProcess, logNodeWarnings, processSignals, runProgram } from "@bunting/runtime";
import { OperatorError } from "./operator-error.js";
import { createOperator } from "./operator.js";
import { operatorOptionTable } from "./options.js";
import { version } from "./version.js";

// No await: the bundle is CommonJS.
void runProgram(
  {
    name: "bunting-operator",
    version,
    describe: "Brings feature flags to Pods: deploys the proxy, and injects agents.",
    table: operatorOptionTable,
    userErrors: [OperatorError, KubeError],
    start: async (options, warnings) => {
      const logger = createLogger({ format: options.logFormat, debug: options.debug });
      logNodeWarnings(logger);
      for (const warning of warnings) logger.warn(warning);
      const stop = processSignals();
      try {
        const operator = await createOperator(options, logger);
        await operator.run(stop.signal);
      } finally {
        stop.release();
      }
    },
  },
  process.argv.slice(2),
  process.env,
).then(endProcess);
