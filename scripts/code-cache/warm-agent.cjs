// @ts-check
/**
 * Runs the agent's bundle in this process, asks it, and writes V8's code cache of what has run. The arguments: the bundle, its id, the file to
 * write. It has to run with the version of node and the flags that the cache is for, and in plain JavaScript: that node can't read TypeScript.
 */
"use strict";

// First, as the agent's launcher does: the cache is for its flags.
require("../../packages/agent/launch/load-node-modules.cjs").loadNodeModules();
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const net = require("node:net");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { setTimeout: delay } = require("node:timers/promises");
const v8 = require("node:v8");
const { compileBundle, runBundle, writeCache } = require("../../packages/agent/launch/cached-script.cjs");
const { askAgent } = require("./ask-agent.cjs");

const [bundle = "", bundleId = "", output = ""] = process.argv.slice(2);
const startWithinMs = 30_000;

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @param {number} port */
async function untilReady(port) {
  for (let waitedMs = 0; waitedMs < startWithinMs; waitedMs += 20) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (response?.ok === true) return;
    await delay(20);
  }
  throw new Error("the agent was not ready in time");
}

async function warm() {
  // V8 refuses a cache that was made under other flags, and the agent sets some while it runs.
  v8.setFlagsFromString = () => undefined;
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-agent-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "flags.json");
  const inCompany = { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "on", "off"] };
  const flag = {
    state: "ENABLED",
    variants: { on: true, off: false },
    defaultVariant: "off",
    targeting: inCompany,
  };
  writeFileSync(file, JSON.stringify({ flags: { warm: flag } }));

  const [evaluation, management, sync, ofrep] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const ports = [
    "--port",
    evaluation,
    "--management-port",
    management,
    "--sync-port",
    sync,
    "--ofrep-port",
    ofrep,
  ];
  process.argv.splice(1, Infinity, bundle, "start", "--uri", `file:${file}`, ...ports.map(String));
  const script = compileBundle(bundle);
  runBundle(script, bundle, createRequire(bundle));
  await untilReady(management);
  await askAgent({ evaluation, management, ofrep }, "warm");
  writeCache(output, bundleId, script.createCachedData());
  process.kill(process.pid, "SIGTERM");
}

warm().catch((error) => {
  console.error(error);
  process.exit(1);
});
