import { callEnd, MessageHold, type StreamParts, type SyncChannel } from "@bunting/sync-client";
import { callUpstream } from "./upstream-stream.js";
import { isAnswer, type UpstreamTopic } from "./upstream-topic.js";

/** How long an upstream may take to read a topic once more. */
const timeoutMs = 30_000;

/**
 * Has the upstream read the topic once more, on a stream beside the one that serves it. Resolves with true once it has and the topic has
 * received the result, with false if the stream ends before or that takes too long.
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
    // One answer may have been under way since before the read; the one after it was made later.
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
        hold: new MessageHold(),
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
