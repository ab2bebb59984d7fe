import { openSync } from "node:fs";
import { createRegistry } from "./metrics.js";
import { processMetrics } from "./process-metrics.js";

// Prints the metrics of a process that has no descriptor left.
const registry = createRegistry(false);
processMetrics(registry);
let hasLeft = true;
while (hasLeft)
  try {
    openSync("/dev/null", "r");
  } catch {
    hasLeft = false;
  }
console.log(await registry.metrics());
