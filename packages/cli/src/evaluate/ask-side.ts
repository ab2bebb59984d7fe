import { CliError } from "../cli-error.js";
import { fetchStatus, type StatusServer } from "../status/read-status.js";
import {
  addressText,
  parseServerAddress,
  usualAgentManagementPort,
  usualManagementPort,
  type ProxyTopic,
  type ServerAddress,
} from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import type { EvalOptions } from "./eval-options.js";
import { sideAtAgent, sideAtProxy, unknownSide, type FlagSide } from "./flag-side.js";

export function askProxySide(
  { address, topic }: ProxyTopic,
  key: string,
  options: EvalOptions,
  signal: AbortSignal,
): Promise<FlagSide> {
  const at = managementAddress(address, options, usualManagementPort);
  return sideOf(at, options, async (server) =>
    sideAtProxy(await fetchStatus(server, options.timeout, signal), topic, key),
  );
}

/** Asks an agent the same, of the remotes that it reads itself. */
export function askAgentSide(
  address: ServerAddress,
  key: string,
  options: EvalOptions,
  signal: AbortSignal,
): Promise<FlagSide> {
  const at = managementAddress(address, options, usualAgentManagementPort);
  return sideOf(at, options, async (server) =>
    sideAtAgent(await fetchStatus(server, options.timeout, signal, "sources"), key),
  );
}

/** @throws CliError USAGE_INVALID */
function managementAddress(address: ServerAddress, { management }: EvalOptions, port: number): ServerAddress {
  if (management !== "") return parseServerAddress(management, port);
  if (!("socketPath" in address)) return { host: address.host, port };
  throw CliError.usageInvalid(
    "the management port of a server at a socket is not known: name it with --management",
  );
}

/** The answer stands without that: what keeps it from being known is said in its place. */
async function sideOf(
  at: ServerAddress,
  options: EvalOptions,
  ask: (server: StatusServer) => Promise<FlagSide>,
): Promise<FlagSide> {
  try {
    return await ask({ name: addressText(at), server: serverAt(at, options) });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return unknownSide(error.message);
  }
}
