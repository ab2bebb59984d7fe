#!/usr/bin/env node
import { createLogger, endProcess, logNodeWarnings, processSignals, runProgram } from "@bunting/runtime";
import { AgentError } from "./agent-error.js";
import { createAgent } from "./agent.js";
import { collectEarly } from "./v8/collect-early.js";
import { delayOptimisation } from "./v8/delay-optimisation.js";
import { agentOptionTable } from "./options.js";
import { collectStartUpGarbage } from "./v8/collect-start-up-garbage.js";
import { version } from "./version.js";

const optimise = delayOptimisation();
// No await: the bundle is CommonJS, which starts with 0.4 MB less.
void runProgram(
  {
    name: "bunting-agent",
    version,
    describe: "Keeps feature flags next to a workload and answers its evaluations.",
    table: agentOptionTable,
    userErrors: [AgentError],
    start: async (options, warnings) => {
      const logger = createLogger({ format: options.logFormat, debug: options.debug });
      logNodeWarnings(logger);
      for (const warning of warnings) logger.warn(warning);
      const stop = processSignals();
      try {
        await createAgent(options, logger).run(stop.signal, () => {
          optimise();
          // Not before: the garbage of the start is collected once, when the start is over.
          collectEarly();
          collectStartUpGarbage();
        });
      } finally {
        stop.release();
      }
    },
  },
  process.argv.slice(2),
  process.env,
).then(endProcess);
