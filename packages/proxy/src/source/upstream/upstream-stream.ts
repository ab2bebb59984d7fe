import { callEnd, callSync, type CallEnd, type SyncCall, type SyncChannel } from "@bunting/sync-client";
import { encodeHello } from "@bunting/sync-client/messages";
import { version } from "../../version.js";

/** More than a proxy sends on a stream: of each topic it waits for the answer to a version before it sends the next. */
const maxMessagesPerSecond = 10_000;
/** Answers and subscriptions that may wait until the upstream reads them: a few of each topic. */
const maxUnread = 1_024;

export interface UpstreamStream extends Omit<SyncCall, "hello" | "maxMessagesPerSecond" | "started"> {
  /** Called when messages can be sent, before there is a connection. `end` ends the stream with the given result. */
  started(send: (message: Buffer) => void, end: (end: CallEnd) => void): void;
}

/** One stream from another proxy; see callSync. */
export function callUpstream(
  channel: SyncChannel,
  stream: UpstreamStream,
  signal: AbortSignal,
): Promise<CallEnd> {
  let unread = 0;
  const call: SyncCall = {
    ...stream,
    hello: encodeHello({
      agent: `bunting-proxy/${version}`,
      providerId: "",
      isProxy: true,
      readsTrials: true,
    }),
    maxMessagesPerSecond,
    started: (write, end) => {
      const send = (message: Buffer): void => {
        unread++;
        write(message, () => unread--);
        if (unread > maxUnread) end(callEnd("answers_unread", "the proxy does not read what it is sent"));
      };
      stream.started(send, end);
    },
  };
  return callSync(channel, call, signal);
}
