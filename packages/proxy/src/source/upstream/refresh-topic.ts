import { callEnd, MessageBuffer, type StreamParts, type SyncChannel } from "@bunting/sync-client";
import { callUpstream } from "./upstream-stream.js";
import { isAnswer } from "./topic-message.js";
import type { UpstreamTopic } from "./upstream-topic.js";

/** Time that an upstream has to read a topic again. */
const timeoutMs = 30_000;

/**
 * Makes the upstream read the topic again, by a stream beside the one that serves it. Resolves with true once the topic has
 * received the result, and with false if the stream ends earlier or the time is over.
 */
export async function refreshTopic(
  { channel, parts }: { readonly channel: SyncChannel; readonly parts: StreamParts },
  topic: UpstreamTopic,
  signal: AbortSignal,
): Promise<boolean> {
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  signal.addEventListener("abort", stop, { once: true });
  const cancelTimeout = parts.clock.after(timeoutMs, stop);
  const outcome: { isDone: boolean } = { isDone: false };
  let isFound = false;
  let digestFound: Buffer | undefined;
  let answers = 0;
  const check = (): void => {
    // The first answer may have been sent before the read; the second was not.
    outcome.isDone = isFound && (isSame(topic.digest, digestFound) || answers >= 2);
    if (outcome.isDone) stop();
  };
  const forget = topic.onAnswer(() => {
    if (isFound) answers++;
    check();
  });
  try {
    await callUpstream(
      channel,
      {
        ...parts,
        buffer: new MessageBuffer(),
        opened: () => undefined,
        started: (send) => send(topic.refreshMessage()),
        received: (message) => {
          if (!isAnswer(message) || message.topic !== topic.name || message.kind === "freshness")
            return undefined;
          if (message.kind === "topic_error") return callEnd("refused", message.message);
          isFound = true;
          digestFound = "version" in message ? message.version.digest : topic.digest;
          if ("version" in message) topic.refreshed(message.version);
          check();
          return undefined;
        },
      },
      abort.signal,
    );
  } finally {
    forget();
    cancelTimeout();
    signal.removeEventListener("abort", stop);
  }
  return outcome.isDone;
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}
