#!/usr/bin/env node
import { runService } from "@bunting/runtime";
import { createAgent } from "./agent.js";
import { agentOptionTable } from "./options.js";
import { collectEarly } from "./v8/collect-early.js";
import { collectStartUpGarbage } from "./v8/collect-start-up-garbage.js";
import { delayOptimisation } from "./v8/delay-optimisation.js";
import { version } from "./version.js";

const optimise = delayOptimisation();
// No await: the bundle is CommonJS, which starts with 0.4 MB less.
void runService({
  name: "bunting-agent",
  version,
  describe: "Keeps feature flags next to a workload and answers its evaluations.",
  table: agentOptionTable,
  run: (options, logger, signal) =>
    createAgent(options, logger).run(signal, () => {
      optimise();
      // Not before: the garbage of the start is collected once, when the start is over.
      collectEarly();
      collectStartUpGarbage();
    }),
});
