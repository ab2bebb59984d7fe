import {
  callEnd,
  openSyncStream,
  runCall,
  silenceMs,
  SilenceWatch,
  type CallEnd,
  type StreamParts,
  type SyncChannel,
} from "@bunting/sync-client";
import { decodeSyncResponse, encodeHello, type SyncResponse } from "@bunting/sync-client/messages";
import { version } from "../../version.js";

/** More than a proxy sends on a stream: of each topic it waits for the answer to a version before it sends the next. */
const maxMessagesPerSecond = 10_000;
/** Answers and subscriptions that may wait until the upstream reads them: a few of each topic. */
const maxUnread = 1_024;

export interface UpstreamStream extends StreamParts {
  /** The upstream has accepted the call. */
  opened(): void;
  /** Called when messages can be sent, before there is a connection. `end` ends the stream with the given result. */
  started(send: (message: Buffer) => void, end: (end: CallEnd) => void): void;
  /** @param number the place of the message in the stream; the first is 1. Returns why the stream is to end, if it is; until a promise settles, nothing more is read. */
  received(
    message: SyncResponse,
    number: number,
    bytes: number,
  ): CallEnd | undefined | Promise<CallEnd | undefined>;
}

/** One stream of bunting.sync.v1 for any topics; see runCall. */
export async function callUpstream(
  channel: SyncChannel,
  parts: UpstreamStream,
  signal: AbortSignal,
): Promise<CallEnd> {
  const silence = new SilenceWatch(parts.clock, maxMessagesPerSecond);
  let endCall: (end: CallEnd) => void = () => undefined;
  let received = 0;
  let isBusy = false;
  let unread = 0;
  try {
    return await runCall(
      channel,
      {
        ...parts,
        messageName: "SyncResponse",
        open: (client, metadata, end) => {
          const stream = openSyncStream(client, metadata);
          endCall = end;
          const silent = (): void => {
            // This side does not listen.
            if (isBusy) silence.start(silent);
            else end(callEnd("silent", `it has sent nothing for ${silenceMs / 1_000} s`));
          };
          silence.start(silent);
          const send = (message: Buffer): void => {
            unread++;
            stream.write(message, () => unread--);
            if (unread > maxUnread) end(callEnd("answers_unread", "it does not read what it is sent"));
          };
          send(encodeHello({ agent: `bunting-proxy/${version}`, providerId: "", isProxy: true }));
          parts.started(send, end);
          return stream;
        },
        opened: () => parts.opened(),
        received: (message) => {
          received++;
          if (!silence.heard()) {
            endCall(callEnd("flood", `it sends more than ${maxMessagesPerSecond} messages a second`));
            return;
          }
          const taking = parts.received(decodeSyncResponse(message), received, message.length);
          if (!(taking instanceof Promise)) {
            if (taking !== undefined) endCall(taking);
            return;
          }
          isBusy = true;
          return taking.then((end) => {
            isBusy = false;
            if (end !== undefined) endCall(end);
          });
        },
      },
      signal,
    );
  } finally {
    silence.stop();
  }
}
