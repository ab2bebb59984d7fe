import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { syncPath, type SyncResponse } from "./bunting-messages.js";
import { decodeSyncResponse } from "./decode-sync-response.js";
import { MessageArrival } from "./message-arrival.js";
import { silenceMs, SilenceWatch } from "./silence-watch.js";
import { callEnd, runCall, type CallEnd, type StreamCall, type StreamParts } from "./stream-call.js";
import type { SyncChannel } from "./sync-channel.js";

/** A stream of bunting.sync.v1, for any topics. */
export interface SyncCall extends StreamParts, Pick<StreamCall, "opened"> {
  /** The first message. */
  readonly hello: Buffer;
  /** More messages than this end the stream. */
  readonly maxMessagesPerSecond: number;
  /** Called when messages can be sent, before there is a connection. `end` ends the stream with the given result. */
  started(send: SendMessage, end: (end: CallEnd) => void): void;
  /**
   * @param number the place of the message in the stream; the first is 1. Answers echo it
   * @returns why the stream is to end, if it is; until a promise settles, nothing more is read
   */
  received(
    message: SyncResponse,
    number: number,
    bytes: number,
  ): CallEnd | undefined | Promise<CallEnd | undefined>;
}

/** Sends a message. `taken` is called once the transport has taken it, which waits for a server that does not read. */
export type SendMessage = (message: Buffer, taken: () => void) => void;

/** One stream of bunting.sync.v1, until it ends; see runCall and docs/bunting-sync-v1.md. */
export async function callSync(channel: SyncChannel, call: SyncCall, signal: AbortSignal): Promise<CallEnd> {
  const { maxMessagesPerSecond } = call;
  const silence = new SilenceWatch(call.clock, maxMessagesPerSecond, new MessageArrival(channel));
  let endCall: (end: CallEnd) => void = () => undefined;
  let received = 0;
  let isBusy = false;
  try {
    return await runCall(
      channel,
      {
        ...call,
        messageName: "SyncResponse",
        open: (client, metadata, end) => {
          const stream = openStream(client, metadata);
          endCall = end;
          const silent = (): void => {
            // This side does not listen.
            if (isBusy) silence.start(silent);
            else end(callEnd("silent", `the proxy has sent nothing for ${silenceMs / 1_000} s`));
          };
          silence.start(silent);
          stream.write(call.hello);
          call.started((message, taken) => void stream.write(message, taken), end);
          return stream;
        },
        received: (message) => {
          received++;
          if (!silence.heard()) {
            endCall(callEnd("flood", `the proxy sends more than ${maxMessagesPerSecond} messages a second`));
            return;
          }
          const taking = call.received(decodeSyncResponse(message), received, message.length);
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

function openStream(client: Client, metadata: Metadata): ClientDuplexStream<Buffer, Buffer> {
  const asItIs = (message: Buffer): Buffer => message;
  return client.makeBidiStreamRequest<Buffer, Buffer>(syncPath, asItIs, asItIs, metadata);
}
