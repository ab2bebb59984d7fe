#!/usr/bin/env node
// @ts-check
/**
 * What the image starts: the agent's bundle, with V8's code cache if there is a valid one beside it, and otherwise as node does by itself; for
 * `health`, its bundle alone.
 * scripts/bundle.ts puts it into dist/ and fills in the bundle's id; scripts/code-cache makes the cache.
 */
"use strict";

const path = require("node:path");

const bundle = path.join(__dirname, "bunting-agent.cjs");
if (process.argv[2] === "health") require(path.join(__dirname, "bunting-agent.health.cjs"));
else start();

function start() {
  // Linux drops a SIGTERM to the first process of a container that does not listen for it, and the container would run on until it is killed.
  process.on("SIGTERM", () => {
    if (process.listenerCount("SIGTERM") === 1) process.exit(143);
  });
  // First: whatever is required before is compiled without node's cache.
  require("./load-node-modules.cjs").loadNodeModules();
  const { compileBundle, readCache, runBundle } = require("./cached-script.cjs");
  const cachedData = readCache(
    path.join(__dirname, "bunting-agent.cache"),
    process.env["BUNTING_BUNDLE_ID"] ?? "",
  );
  // With --enable-source-maps node has to load the bundle itself, to find its map. V8 11, of Node 20, does not import on demand from a cached script.
  const isOldV8 = Number.parseInt(process.versions.v8, 10) < 12;
  if (cachedData === undefined || process.sourceMapsEnabled || isOldV8) require(bundle);
  else runBundle(compileBundle(bundle, cachedData), bundle, require);
}
