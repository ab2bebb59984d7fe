/**
 * The whole path on one machine: a directory of FeatureFlags → proxy → agent → OpenFeature SDKs, with an edit arriving live. Run by
 * `npm start`; both binaries run as they would in a cluster, as processes of their own.
 */
import { cpSync } from "node:fs";
import path from "node:path";
import { aborted, processSignals, readOptions } from "@bunting/runtime";
import { renderHelp } from "@bunting/runtime/options";
import { imageEntrypoint } from "../scripts/images/image-entrypoint.js";
import { demoOptionTable, type DemoOptions } from "./demo-options.js";
import { arrival, flipWelcome } from "./live-edit.js";
import { takenPorts } from "./ports.js";
import { connectProviders, disconnectProviders, type Way } from "./providers.js";
import { ServiceProcess } from "./service-process.js";

const root = path.dirname(import.meta.dirname);
const person = { targetingKey: "ada", email: "ada@example.com", orders: 7 };

const say = (line = ""): void => void process.stdout.write(`${line}\n`);

async function demonstrate(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const taken = await takenPorts(options);
  if (taken !== undefined) {
    say(taken);
    return 1;
  }
  const folder = path.resolve(root, options.flags);
  cpSync(path.join(import.meta.dirname, "flags"), folder, { recursive: true });

  const broken = new AbortController();
  const services: ServiceProcess[] = [];
  const stopAll = async (): Promise<void> => {
    await disconnectProviders();
    for (const service of services.toReversed()) await service.stop();
  };
  const onEnd = (name: string, code: number | null): void => {
    say(`The ${name} ended unexpectedly (exit ${code ?? "by signal"}); its last lines above say why.`);
    broken.abort();
  };
  const ended = AbortSignal.any([signal, broken.signal]);
  try {
    say("Starting the proxy and an agent …");
    services.push(new ServiceProcess("proxy", proxyCommand(options, folder), onEnd));
    await ready(`http://127.0.0.1:${options.proxyManagementPort}/readyz`, ended);
    services.push(new ServiceProcess("agent", agentCommand(options), onEnd));
    await ready(`http://127.0.0.1:${options.agentManagementPort}/readyz`, ended);
    if (ended.aborted) return broken.signal.aborted ? 1 : 0;
    const ways = await connectProviders(options);
    await showEvaluations(ways);
    await showLiveEdit(ways, folder);
    showAddresses(options, folder);
    if (!options.once) await aborted(ended);
  } finally {
    say("Stopping …");
    await stopAll();
  }
  return broken.signal.aborted ? 1 : 0;
}

function proxyCommand(options: DemoOptions, folder: string): string[] {
  const binary = path.join(root, "packages/proxy/dist/bunting-proxy.cjs");
  const ports = ["--port", `${options.proxyPort}`, "--management-port", `${options.proxyManagementPort}`];
  // No load balancer is in front of this proxy, so there is nothing to wait for before it stops.
  return [
    binary,
    "start",
    "--host",
    "127.0.0.1",
    "--source",
    `dir:${folder}`,
    "--drain-delay",
    "0",
    "--drain-window",
    "300ms",
    ...ports,
  ];
}

function agentCommand(options: DemoOptions): string[] {
  const uri = `127.0.0.1:${options.proxyPort}`;
  const sources = ["default/storefront", "default/pricing"].map((selector) => ({
    uri,
    provider: "grpc",
    selector,
  }));
  return [
    ...imageEntrypoint("agent.Dockerfile").nodeFlags,
    path.join(root, "packages/agent/dist/start-agent.cjs"),
    ...["start", "--host", "127.0.0.1", "--sources", JSON.stringify(sources)],
    ...["--port", `${options.agentPort}`, "--management-port", `${options.agentManagementPort}`],
    ...["--sync-port", `${options.agentSyncPort}`, "--ofrep-port", `${options.agentOfrepPort}`],
  ];
}

async function ready(url: string, signal: AbortSignal): Promise<void> {
  // Kept here: in Node 20 a timeout that is only a part of another signal may be collected, and never aborts then.
  const timeout = AbortSignal.timeout(30_000);
  const deadline = AbortSignal.any([signal, timeout]);
  while (!signal.aborted && !timeout.aborted) {
    const response = await fetch(url, { signal: deadline }).catch(() => undefined);
    if (response?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  if (!signal.aborted) throw new Error(`${url} did not answer 200 within 30 s`);
}

async function showEvaluations(ways: readonly Way[]): Promise<void> {
  say();
  say(`What ${person.email} sees, by each OpenFeature provider:`);
  for (const { name, client } of ways) {
    const banner = await client.getStringDetails("banner", "(code default)", person);
    const colour = await client.getStringDetails("checkout-colour", "(code default)", person);
    const welcome = await client.getBooleanDetails("new-welcome", false, person);
    say(`  ${name.padEnd(36)} banner=${JSON.stringify(banner.value)} (${banner.reason ?? ""})`);
    say(
      `  ${"".padEnd(36)} checkout-colour=${colour.value}, new-welcome=${welcome.value} (${welcome.reason ?? ""})`,
    );
  }
}

async function showLiveEdit(ways: readonly Way[], folder: string): Promise<void> {
  const file = path.join(folder, "storefront.yaml");
  say();
  say(`Now new-welcome is flipped in ${path.relative(root, file)} …`);
  const { expected, atMs } = await flipWelcome(file);
  const arrivals = await Promise.all(
    ways.map(async (way) => ({ name: way.name, afterMs: (await arrival(way, expected, 30_000)) - atMs })),
  );
  for (const { name, afterMs } of arrivals) {
    say(`  ${name.padEnd(36)} new-welcome=${expected} after ${afterMs.toFixed(1)} ms`);
  }
}

function showAddresses(options: DemoOptions, folder: string): void {
  say();
  say("Up and running:");
  say(
    `  proxy   flagd.sync.v1 127.0.0.1:${options.proxyPort}   status http://127.0.0.1:${options.proxyManagementPort}/status`,
  );
  say(
    `  agent   evaluation 127.0.0.1:${options.agentPort}   OFREP http://127.0.0.1:${options.agentOfrepPort}   sync 127.0.0.1:${options.agentSyncPort}`,
  );
  say(`          management http://127.0.0.1:${options.agentManagementPort}/readyz`);
  say();
  say("Try it:");
  say(`  curl -s -X POST http://127.0.0.1:${options.agentOfrepPort}/ofrep/v1/evaluate/flags/new-welcome`);
  say(
    `  curl -s -H 'content-type: application/json' -d '{"flagKey":"banner","context":{"email":"ada@example.com"}}' http://127.0.0.1:${options.agentPort}/flagd.evaluation.v1.Service/ResolveString`,
  );
  say(`  then edit ${path.relative(root, folder)}/storefront.yaml and ask again.`);
  say();
  if (!options.once) say("Ctrl-C ends everything.");
}

function help(): string {
  const describe =
    "Runs proxy and agent on sample flags, and shows four OpenFeature providers asking and an edit arriving.";
  return renderHelp({
    usage: "npm start -- [options]",
    describe,
    table: demoOptionTable,
    epilogue: "Ctrl-C ends everything.",
  });
}

async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes("--help") || argv.includes("-h")) {
    say(help());
    return 0;
  }
  const { options, warnings } = await readOptions(demoOptionTable, {
    argv,
    env: process.env,
    readsConfig: false,
  });
  warnings.forEach(say);
  return demonstrate(options, stop.signal);
}

const stop = processSignals();
// A terminal that is closed. The services do not get the signal, and end when this process exits.
process.once("SIGHUP", () => process.exit(129));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(`npm start: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  stop.release();
}
