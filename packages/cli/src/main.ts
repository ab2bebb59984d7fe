#!/usr/bin/env node
import { processSignals } from "@bunting/runtime/options";
import { runCli } from "./run-cli.js";
import { processIo } from "./terminal/process-io.js";

// Deprecations are for developers: node 24 would print one, of the reader of kubeconfigs, with each command that asks a cluster.
process.noDeprecation = !process.traceDeprecation;
const signals = processSignals();
const output = new AbortController();
const io = processIo(process, AbortSignal.any([signals.signal, output.signal]), () => output.abort());
process.exitCode = await runCli(process.argv.slice(2), io);
signals.release();
