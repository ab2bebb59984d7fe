// @ts-check
/**
 * Loads node's own modules with the code cache that node's binary has for them, and then sets the flags of V8 under which the agent runs.
 *
 * V8 refuses a code cache that was made under other flags, and compiles some hundred modules of node from their source instead: 25 ms of
 * processor time in each start, and 0.3 MB of private memory. So those of the image's entrypoint that bear on a cache are set back while the
 * modules are loaded. The main context has `gc`, and the queue its length, since V8 has started.
 */
"use strict";

const v8 = require("node:v8");

/** V8's own values. */
const flagsOfNode = [
  "--no-expose-gc",
  "--allocation-site-pretenuring",
  "--concurrent-recompilation-queue-length=8",
];

/**
 * Flags that the agent runs under, which V8 reads at any time. docs/memory.md has what each is for and what it saves. If V8 starts with --no-maglev,
 * it refuses the cache whatever is set later, so that is set here alone.
 */
const flagsOfLauncher = ["--no-allocation-site-pretenuring", "--no-maglev"];

/** What an agent with a source of gRPC has loaded when it has answered, or what loads that. */
const modules = [
  "node:child_process",
  "node:cluster",
  "node:crypto",
  "node:dgram",
  "node:dns",
  "node:dns/promises",
  "node:fs/promises",
  "node:http2",
  "node:https",
  "node:perf_hooks",
  "node:timers/promises",
  "node:tls",
  "node:zlib",
];

function loadNodeModules() {
  for (const flag of flagsOfNode) v8.setFlagsFromString(flag);
  for (const name of modules) require(name);
  // A getter, which loads what reads command lines.
  void require("node:util").parseArgs;
  for (const flag of flagsOfLauncher) v8.setFlagsFromString(flag);
}

module.exports = { loadNodeModules, flagsOfNode, flagsOfLauncher };
