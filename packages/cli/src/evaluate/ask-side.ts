import { CliError } from "../cli-error.js";
import { fetchStatus } from "../status/read-status.js";
import {
  addressText,
  parseServerAddress,
  usualManagementPort,
  type ProxyTopic,
} from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import type { EvalOptions } from "./eval-options.js";
import { sideAtProxy, unknownSide, type FlagSide } from "./flag-side.js";

/** Asks a proxy which side a flag is of. The answer stands without that: what keeps it from being known is said in its place. */
export async function askSide(
  { address, topic }: ProxyTopic,
  key: string,
  options: EvalOptions,
  signal: AbortSignal,
): Promise<FlagSide> {
  const { management, timeout } = options;
  if (management === "" && "socketPath" in address)
    throw new CliError(
      "USAGE_INVALID",
      "the management port of a proxy at a socket is not known: name it with --management",
    );
  const host = "socketPath" in address ? "" : address.host;
  const at =
    management === ""
      ? { host, port: usualManagementPort }
      : parseServerAddress(management, usualManagementPort);
  try {
    const server = { name: addressText(at), server: serverAt(at, options) };
    return sideAtProxy(await fetchStatus(server, timeout, signal), topic, key);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CliError)) throw error;
    return unknownSide(error.message);
  }
}
