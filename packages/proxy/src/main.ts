#!/usr/bin/env node
import { KubeError } from "@bunting/kube";
import { createLogger, endProcess, logNodeWarnings, processSignals, runProgram } from "@bunting/runtime";
import { boundGarbage } from "./bound-garbage.js";
import { proxyOptionTable } from "./options.js";
import { ProxyError } from "./proxy-error.js";
import { createProxy } from "./proxy.js";
import { version } from "./version.js";

// No await: the bundle is CommonJS.
void runProgram(
  {
    name: "bunting-proxy",
    version,
    describe: "Watches feature flags and streams every change to agents and OpenFeature providers.",
    table: proxyOptionTable,
    userErrors: [ProxyError, KubeError],
    start: async (options, warnings) => {
      const logger = createLogger({ format: options.logFormat, debug: options.debug });
      logNodeWarnings(logger);
      for (const warning of warnings) logger.warn(warning);
      const stop = processSignals();
      try {
        const proxy = createProxy(options, logger);
        boundGarbage(() => proxy.discardedBytes);
        await proxy.run(stop.signal);
      } finally {
        stop.release();
      }
    },
  },
  process.argv.slice(2),
  process.env,
).then(endProcess);
