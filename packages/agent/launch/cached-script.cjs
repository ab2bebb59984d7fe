// @ts-check
/**
 * V8's code cache of the agent's bundle: the bytecode of what a start and a first answer run, so that V8 need not compile it again. It is valid
 * for one bundle, one version of node and one set of V8's flags; V8 itself refuses that of another version or other flags.
 *
 * A cache starts with the SHA-256 of the bundle's id and of all that follows: V8 as node ships it does not check the cache's sum, and takes a
 * damaged one for good (19 of 40 starts with random damage ended the process by a signal).
 */
"use strict";

const { createHash, timingSafeEqual } = require("node:crypto");
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const digestBytes = 32;
/** What stands in place of the bundle's first line, so that lines and columns in stacks are those of the bundle. */
const wrapperStart = "(function (exports, require, module, __filename, __dirname) {";

/**
 * @param {string} bundleId
 * @param {Buffer} data
 */
function digestOf(bundleId, data) {
  return createHash("sha256").update(bundleId).update(data).digest();
}

/**
 * What V8 may be given; undefined if the file is not there, is damaged, or is that of another bundle.
 *
 * @param {string} file
 * @param {string} bundleId
 * @returns {Buffer | undefined}
 */
function readCache(file, bundleId) {
  let content;
  try {
    content = readFileSync(file);
  } catch {
    return undefined;
  }
  if (content.length <= digestBytes) return undefined;
  const data = content.subarray(digestBytes);
  return timingSafeEqual(content.subarray(0, digestBytes), digestOf(bundleId, data)) ? data : undefined;
}

/**
 * @param {string} file
 * @param {string} bundleId
 * @param {Buffer} data
 */
function writeCache(file, bundleId, data) {
  writeFileSync(file, Buffer.concat([digestOf(bundleId, data), data]), { mode: 0o644 });
}

/**
 * Compiles the bundle, which starts with a `#!` line. V8 ignores a cache that it refuses and says so in `cachedDataRejected`.
 *
 * @param {string} bundle
 * @param {Buffer} [cachedData]
 */
function compileBundle(bundle, cachedData) {
  const source = readFileSync(bundle, "utf8");
  const body = source.startsWith("#!") ? source.slice(source.indexOf("\n")) : source;
  return new vm.Script(`${wrapperStart}${body}\n})`, {
    filename: bundle,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Node warns at the first import on demand of what compileBundle has it resolved by: in the log of an agent, of which nobody chose that, it says nothing. */
function silenceExperiment() {
  const { emitWarning } = process;
  /** @type {(...args: unknown[]) => void} */
  process.emitWarning = (...args) => {
    if (!String(args[0]).startsWith("vm.USE_MAIN_CONTEXT_DEFAULT_LOADER"))
      Reflect.apply(emitWarning, process, args);
  };
}

/**
 * Runs it as `require` would. `requireBeside` is that of a file in the bundle's folder.
 *
 * @param {vm.Script} script
 * @param {string} bundle
 * @param {NodeJS.Require} requireBeside
 */
function runBundle(script, bundle, requireBeside) {
  silenceExperiment();
  const module = { exports: {} };
  const run = script.runInThisContext();
  run.call(module.exports, module.exports, requireBeside, module, bundle, path.dirname(bundle));
}

module.exports = { readCache, writeCache, compileBundle, runBundle };
