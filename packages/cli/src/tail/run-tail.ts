import { setTimeout as delay } from "node:timers/promises";
import { parseAnySelector } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { followTopic } from "../sync/follow-topic.js";
import { grpcStatus, type SessionCallEnd } from "../sync/grpc-session.js";
import { addressText, parseServerAddress, usualSyncPort } from "../sync/server-address.js";
import { serverAt, type SyncServer } from "../sync/server.js";
import { tokenAdvice } from "../sync/token-advice.js";
import { TopicCopy } from "../sync/topic-copy.js";
import type { tailOptionTable } from "./tail-options.js";
import { TailPrinter } from "./tail-printer.js";

const firstDelayMs = 300;
const maxDelayMs = 5_000;

/** `bunting tail`; resolves with the exit code. */
export async function runTail({ options, words, io }: CommandCall<typeof tailOptionTable>): Promise<number> {
  const [word, ...rest] = words;
  if (word === undefined || rest.length > 0)
    throw CliError.usageInvalid("expected one FeatureFlag: bunting tail default/storefront");
  const topic = parseAnySelector(word);
  const server = serverAt(parseServerAddress(options.address, usualSyncPort), options);
  const name = addressText(server.address);
  const copy = new TopicCopy();
  const printer = new TailPrinter(topic, io, options.json);
  const ended = new AbortController();
  const stop = AbortSignal.any([io.signal, ended.signal]);
  let versions = 0;
  let delayMs = firstDelayMs;
  let lastReason: string | undefined;
  /** The topic was told of: on this stream, and on any. */
  let stream = { hasAnswered: false };
  let hasServed = false;
  const listener = {
    opened: (protocol: string): void => {
      delayMs = firstDelayMs;
      lastReason = undefined;
      io.note(`connected to ${name}, ${protocol}`);
    },
    version: (version: Parameters<TailPrinter["version"]>[0]): void => {
      stream.hasAnswered = true;
      if (printer.version(version) && ++versions === options.limit) ended.abort();
    },
    missing: () => {
      stream.hasAnswered = true;
      printer.missing();
    },
    deleted: (policy: string) => {
      stream.hasAnswered = true;
      printer.deleted(policy);
    },
    refused: (message: string) => printer.refused(message),
  };
  const isOver = (): boolean => stop.aborted;
  while (!isOver()) {
    stream = { hasAnswered: false };
    const end = await followTopic(server, topic, copy, listener, stop);
    const { message } = end;
    if (isOver()) break;
    hasServed ||= stream.hasAnswered;
    // A stream that has told of the topic may end because its token has expired: the next presents what is in the file then. A server that has
    // served flags may do so again, whatever else it says in between.
    if (!stream.hasAnswered && (isRefusal(end) || (!hasServed && isFinal(end))))
      throw new CliError("SERVER_REFUSED", explained(name, server, end));
    // Once for each reason: a server may be away for long.
    if (message !== lastReason) io.note(`not connected to ${name}: ${message}; trying again`);
    lastReason = message;
    await delay(delayMs * (0.5 + Math.random() / 2), undefined, { signal: stop }).catch(() => undefined);
    delayMs = Math.min(maxDelayMs, 2 * delayMs);
  }
  return 0;
}

/** True if trying again is of no use. */
function isFinal({ status, isHopeless }: SessionCallEnd): boolean {
  return isHopeless === true || status === grpcStatus.unimplemented;
}

/** True if the server does not accept the token, or does not let its holder read the topic. */
function isRefusal({ status }: SessionCallEnd): boolean {
  return status === grpcStatus.unauthenticated || status === grpcStatus.permissionDenied;
}

function explained(name: string, server: SyncServer, { status, message }: SessionCallEnd): string {
  const refuses = `${name} refuses the subscription: ${message}`;
  if (status === grpcStatus.permissionDenied) return refuses;
  if (status === grpcStatus.unauthenticated) return `${refuses}. ${tokenAdvice(server)}`;
  const reason =
    status === grpcStatus.unimplemented ? "it has neither bunting.sync.v1 nor flagd.sync.v1" : message;
  return `${name} serves no flags: ${reason}. They are on the sync port of a proxy, 8015 by default, or of an agent: name it with --address`;
}
