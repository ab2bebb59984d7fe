#!/usr/bin/env node
import { runService } from "@bunting/runtime";
import { boundGarbage } from "./bound-garbage.js";
import { proxyOptionTable } from "./options.js";
import { createProxy } from "./proxy.js";
import { version } from "./version.js";

// No await: the bundle is CommonJS.
void runService({
  name: "bunting-proxy",
  version,
  describe: "Watches feature flags and streams every change to agents and OpenFeature providers.",
  table: proxyOptionTable,
  run: (options, logger, signal) => {
    const proxy = createProxy(options, logger);
    boundGarbage(() => proxy.discardedBytes);
    return proxy.run(signal);
  },
});
