import type { JsonObject } from "@bunting/protocol";
import { isSameJson } from "@bunting/evaluation";
import { CliError } from "../cli-error.js";
import type { Io } from "../terminal/io.js";
import {
  addressText,
  parseServerAddress,
  usualSyncPort,
  type ServerAddress,
} from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import { askAgent } from "./ask-agent.js";
import type { EvalOptions } from "./eval-options.js";
import { fetchAgentFlags } from "./fetch-agent-flags.js";
import type { LiveDocument } from "./live-documents.js";
import { ofType, type TypedAnswer } from "./typed-answer.js";

export interface AgentAnswer {
  readonly answer: TypedAnswer;
  /** Or why they could not be fetched. */
  readonly flags: LiveDocument | { readonly problem: string };
}

/**
 * Asks an agent, and fetches its flags: the answer is the agent's, and the way through the rule comes of the flags.
 *
 * @throws CliError
 */
export async function evalAtAgent(
  address: ServerAddress,
  key: string,
  context: JsonObject,
  options: EvalOptions,
  { signal }: Pick<Io, "signal">,
): Promise<AgentAnswer> {
  const { timeout, type } = options;
  const given = await askAgent(serverAt(address, options), key, context, { timeout, signal });
  const answer =
    given.errorCode === undefined && given.value !== undefined ? ofType(given, given.value, type) : given;
  try {
    const document = await fetchAgentFlags(syncServer(address, options), timeout, signal);
    return { answer, flags: { topic: "all sources", document, place: `agent ${addressText(address)}` } };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CliError)) throw error;
    return { answer, flags: { problem: error.message } };
  }
}

/** Sentence that says why the answer of an agent is not that of its flags; undefined if it is. */
export function differenceOf(live: TypedAnswer, here: TypedAnswer): string | undefined {
  const isSame =
    isSameJson(live.value ?? null, here.value ?? null) &&
    live.variant === here.variant &&
    live.reason === here.reason &&
    live.errorCode === here.errorCode;
  if (isSame) return undefined;
  const shown = here.value === undefined ? "no value" : JSON.stringify(here.value);
  return `The agent's flags give ${shown} here (reason ${here.reason}): it adds to the context (--context-value, headers), or the flags have changed in between.`;
}

function syncServer(address: ServerAddress, options: EvalOptions) {
  if (options.sync !== "") return serverAt(parseServerAddress(options.sync, usualSyncPort), options);
  if ("socketPath" in address)
    throw CliError.usageInvalid("the sync port of an agent at a socket is not known: name it with --sync");
  return serverAt({ host: address.host, port: usualSyncPort }, options);
}
