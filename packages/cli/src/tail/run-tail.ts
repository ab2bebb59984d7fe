import { setTimeout as delay } from "node:timers/promises";
import { parseAnySelector } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { followTopic } from "../sync/follow-topic.js";
import { grpcStatus, type SessionCallEnd } from "../sync/grpc-session.js";
import { addressText, parseServerAddress, usualSyncPort } from "../sync/server-address.js";
import { serverAt } from "../sync/server.js";
import { TopicCopy } from "../sync/topic-copy.js";
import type { tailOptionTable } from "./tail-options.js";
import { TailPrinter } from "./tail-printer.js";

const firstDelayMs = 300;
const maxDelayMs = 5_000;

/** `bunting tail`; resolves with the exit code. */
export async function runTail({ options, words, io }: CommandCall<typeof tailOptionTable>): Promise<number> {
  const [word, ...rest] = words;
  if (word === undefined || rest.length > 0)
    throw new CliError("USAGE_INVALID", "expected one FeatureFlag: bunting tail default/storefront");
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
  let connections = 0;
  const listener = {
    opened: (protocol: string): void => {
      delayMs = firstDelayMs;
      lastReason = undefined;
      connections++;
      io.note(`connected to ${name}, ${protocol}`);
    },
    version: (version: Parameters<TailPrinter["version"]>[0]): void => {
      if (printer.version(version) && ++versions === options.limit) ended.abort();
    },
    missing: () => printer.missing(),
    deleted: (policy: string) => printer.deleted(policy),
    refused: (message: string) => printer.refused(message),
  };
  const isOver = (): boolean => stop.aborted;
  while (!isOver()) {
    const end = await followTopic(server, topic, copy, listener, stop);
    const { message } = end;
    if (isOver()) break;
    // A server that has served flags may do so again, whatever it says in between.
    if (connections === 0 && isFinal(end)) throw new CliError("SERVER_REFUSED", explained(name, end));
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
  const { unimplemented, unauthenticated, permissionDenied } = grpcStatus;
  return (
    isHopeless === true || [unimplemented, unauthenticated, permissionDenied].some((one) => one === status)
  );
}

function explained(name: string, { status, message }: SessionCallEnd): string {
  if (status === grpcStatus.unauthenticated || status === grpcStatus.permissionDenied)
    return `${name} refuses the subscription: ${message}`;
  const reason =
    status === grpcStatus.unimplemented ? "it has neither bunting.sync.v1 nor flagd.sync.v1" : message;
  return `${name} serves no flags: ${reason}. They are on the sync port of a proxy, 8015 by default, or of an agent: name it with --address`;
}
