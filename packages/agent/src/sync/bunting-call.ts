import { cutToBytes } from "@bunting/runtime";
import {
  type CallEnd,
  callEnd,
  openSyncStream,
  runCall,
  type StreamCall,
  type StreamParts,
  type SyncChannel,
  silenceMs,
  SilenceWatch,
} from "@bunting/sync-client";
import {
  decodeSyncResponse,
  type Deleted,
  encodeHello,
  encodeSubscribe,
  type SyncResponse,
  type TopicError,
} from "@bunting/sync-client/messages";
import { version } from "../version.js";
import { OutgoingMessages } from "./outgoing-messages.js";
import type { TopicDocument } from "./topic-document.js";

/** More than any proxy sends on a stream of one topic: after each version it waits for the ack. */
const maxMessagesPerSecond = 1_000;
/** The proxy's limit; it ends the stream of an agent that exceeds it. */
const maxProviderIdBytes = 256;

export interface BuntingCall extends StreamParts, Pick<StreamCall, "opened"> {
  readonly topic: string;
  readonly providerId: string;
  readonly document: TopicDocument;
  /** Called with each message before it is applied. */
  received(response: SyncResponse, messageBytes: number): void;
  /** The topic was refused, or its subscription ended. Returns when to subscribe again, in ms, or that the stream is to end. */
  refused(error: TopicError): number | CallEnd;
  deleted(policy: Deleted["policy"]): void;
}

/** One stream of bunting.sync.v1 for one topic; see runCall and docs/bunting-sync-v1.md. */
export async function callBuntingSync(
  channel: SyncChannel,
  call: BuntingCall,
  signal: AbortSignal,
): Promise<CallEnd> {
  const { topic, document, clock } = call;
  let outgoing: OutgoingMessages | undefined;
  const send = (message: Buffer): void => outgoing?.send(message);
  let endCall: (end: CallEnd) => void = () => undefined;
  /** The number of the last message received; acks and nacks echo it. */
  let received = 0;
  let cancelRetry: () => void = () => undefined;
  const subscribe = (): void => send(encodeSubscribe(topic, document.version()));
  const silence = new SilenceWatch(clock, maxMessagesPerSecond);

  const take = (response: SyncResponse): void => {
    switch (response.kind) {
      case "unchanged":
      case "snapshot":
      case "delta":
        send(document.take(response, received));
        return;
      case "deleted":
        call.deleted(response.policy);
        return;
      case "topic_error": {
        cancelRetry();
        const then = call.refused(response);
        if (typeof then === "number") cancelRetry = clock.after(then, subscribe);
        else endCall(then);
        return;
      }
      default:
    }
  };

  try {
    return await runCall(
      channel,
      {
        ...call,
        messageName: "SyncResponse",
        open: (client, metadata, end) => {
          const stream = openSyncStream(client, metadata);
          outgoing = new OutgoingMessages((message, taken) => void stream.write(message, taken), clock);
          endCall = end;
          silence.start(() =>
            end(callEnd("silent", `the proxy has sent nothing for ${silenceMs / 1_000} s`)),
          );
          const providerId = cutToBytes(call.providerId, maxProviderIdBytes);
          send(encodeHello({ agent: `bunting-agent/${version}`, providerId, readsFreshness: true }));
          subscribe();
          return stream;
        },
        opened: () => call.opened(),
        received: (message) => {
          received++;
          if (!silence.heard()) {
            endCall(callEnd("flood", `the proxy sends more than ${maxMessagesPerSecond} messages a second`));
            return;
          }
          if (outgoing?.isStuck === true) {
            endCall(callEnd("answers_unread", "the proxy goes on sending without reading the answers"));
            return;
          }
          const response = decodeSyncResponse(message);
          // This stream has subscribed to one topic only.
          if ("topic" in response && response.topic !== topic) return;
          call.received(response, message.length);
          take(response);
        },
      },
      signal,
    );
  } finally {
    cancelRetry();
    silence.stop();
  }
}
