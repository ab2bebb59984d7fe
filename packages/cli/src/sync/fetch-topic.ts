import type { TopicKey } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import { followTopic } from "./follow-topic.js";
import { addressText } from "./server-address.js";
import type { SyncServer } from "./server.js";
import { TopicCopy } from "./topic-copy.js";
import type { TopicVersion } from "./topic-listener.js";

/**
 * What a server serves for a topic now.
 *
 * @throws CliError SERVER_UNREACHABLE, SERVER_REFUSED, or INPUT_INVALID if there is no such FeatureFlag
 */
export async function fetchTopic(
  server: SyncServer,
  topic: TopicKey,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TopicVersion> {
  const name = addressText(server.address);
  const done = new AbortController();
  const result: { version?: TopicVersion; error?: CliError } = {};
  const settle = (given: typeof result): void => {
    if (done.signal.aborted) return;
    Object.assign(result, given);
    done.abort();
  };
  const timeout = AbortSignal.timeout(timeoutMs);
  const listener = {
    opened: () => undefined,
    version: (version: TopicVersion) => settle({ version }),
    missing: () => settle({ error: CliError.inputInvalid(`${name} has no FeatureFlag ${topic}`) }),
    // A policy that keeps the flags sends them before.
    deleted: () => settle({ error: CliError.inputInvalid(`the FeatureFlag ${topic} was deleted`) }),
    refused: (message: string) =>
      settle({ error: new CliError("SERVER_REFUSED", `${name} refuses ${topic}: ${message}`) }),
  };
  const stop = AbortSignal.any([done.signal, timeout, signal]);
  const { message } = await followTopic(server, topic, new TopicCopy(), listener, stop);
  if (result.version !== undefined) return result.version;
  if (result.error !== undefined) throw result.error;
  signal.throwIfAborted();
  const reason = timeout.aborted ? `it sent nothing for ${timeoutMs / 1_000} s` : message;
  throw new CliError(
    "SERVER_UNREACHABLE",
    `no flags came from ${name}: ${reason}. Is it the sync port of a proxy?`,
  );
}
