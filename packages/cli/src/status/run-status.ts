import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { rolloutLines } from "../rollout/rollout-lines.js";
import type { RolloutState } from "../rollout/rollout-state.js";
import { addressText, parseServerAddress, usualManagementPort } from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import type { Io } from "../terminal/io.js";
import { asProxyStatus } from "./proxy-status.js";
import { readRollouts, rolledOutTopics } from "./read-rollouts.js";
import { fetchStatus, type StatusServer } from "./read-status.js";
import { statusLines } from "./status-lines.js";
import { askedFor } from "./status-query.js";
import type { statusOptionTable } from "./status-options.js";

type Options = CommandCall<typeof statusOptionTable>["options"];

interface Answer {
  readonly proxy: string;
  readonly status: object;
}

/** `bunting status`; resolves with the exit code. */
export async function runStatus({
  options,
  words,
  io,
}: CommandCall<typeof statusOptionTable>): Promise<number> {
  if (words.length > 0) throw CliError.usageInvalid("status takes options only: name a proxy with --address");
  let servers: readonly StatusServer[] | undefined = await serversOf(options, io);
  for (;;) {
    try {
      // Pods come and go.
      servers ??= await serversOf(options, io);
      const answers = await askAll(servers, options, io);
      show(answers, await rolloutsOf(answers, options, io), options, io);
      if (!options.watch) return answers.every(({ status }) => asProxyStatus(status).isReady) ? 0 : 1;
    } catch (error) {
      // Whoever watches wants to see it come back.
      if (!options.watch || !(error instanceof Error)) throw error;
      if (!io.signal.aborted) io.note(`${new Date().toISOString()} ${error.message}`);
    }
    await delay(options.interval, undefined, { signal: io.signal }).catch(() => undefined);
    if (io.signal.aborted) return 0;
    servers = undefined;
  }
}

async function askAll(
  servers: readonly StatusServer[],
  { timeout }: Options,
  io: Io,
): Promise<readonly Answer[]> {
  const ask = async (server: StatusServer): Promise<Answer> => ({
    proxy: server.name,
    status: await fetchStatus(server, timeout, io.signal),
  });
  return Promise.all(servers.map(ask));
}

async function serversOf(options: Options, io: Io): Promise<readonly StatusServer[]> {
  if (options.namespace === "") {
    const address = parseServerAddress(options.address, usualManagementPort);
    return [{ name: addressText(address), server: serverAt(address, options) }];
  }
  const { podServers } = await import("./pod-servers.js");
  return podServers(options, io);
}

/** Of FeatureFlags that proxies say are rolled out; none without a cluster. */
async function rolloutsOf(
  answers: readonly Answer[],
  options: Options,
  io: Io,
): Promise<readonly RolloutState[]> {
  const topics = rolledOutTopics(answers.map(({ status }) => asProxyStatus(status)));
  if (options.namespace === "" || topics.length === 0) return [];
  const { withCluster } = await import("../operator/cluster-reader.js");
  return withCluster(options, io, (reader) => readRollouts(topics, reader));
}

function show(
  answers: readonly Answer[],
  rollouts: readonly RolloutState[],
  options: Options,
  { print, colours, isTerminal, clear }: Io,
): void {
  const { json, watch } = options;
  if (json) {
    const proxies = answers.map(({ proxy, status }) => ({ proxy, status: askedFor(status, options) }));
    print(JSON.stringify({ proxies, rollouts }, null, watch ? 0 : 2));
    return;
  }
  // From the top of a cleared screen, so that the table stays in its place.
  if (watch) clear();
  answers.forEach(({ proxy, status }, index) => {
    if (index > 0) print("");
    for (const line of statusLines(proxy, asProxyStatus(status), colours, options)) print(line);
  });
  if (rollouts.length > 0) print("");
  for (const line of rollouts.flatMap(rolloutLines)) print(line);
  if (watch && !isTerminal) print("");
}
