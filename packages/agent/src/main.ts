#!/usr/bin/env node
import { createLogger, processSignals, runProgram } from "@bunting/runtime";
import { createAgent } from "./agent.js";
import { delayOptimisation } from "./late-optimisation.js";
import { agentOptionTable } from "./options.js";
import { version } from "./version.js";

const optimise = delayOptimisation();
process.exitCode = await runProgram(
  {
    name: "bunting-agent",
    version,
    describe: "Keeps feature flags next to a workload and answers its evaluations.",
    table: agentOptionTable,
    userErrors: ["AgentError"],
    start: async (options, warnings) => {
      const logger = createLogger({ format: options.logFormat, debug: options.debug });
      for (const warning of warnings) logger.warn(warning);
      const stop = processSignals();
      try {
        await createAgent(options, logger).run(stop.signal, optimise);
      } finally {
        stop.release();
      }
    },
  },
  process.argv.slice(2),
  process.env,
);
