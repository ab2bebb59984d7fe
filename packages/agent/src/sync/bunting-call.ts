import type { Clock } from "@bunting/runtime";
import { version } from "../version.js";
import { syncPath, type Deleted, type SyncResponse, type TopicError } from "./bunting-messages.js";
import { decodeSyncResponse } from "./decode-sync-response.js";
import { encodeHello, encodeSubscribe } from "./encode-sync-request.js";
import { cutToBytes } from "./cut-to-bytes.js";
import { callEnd, runCall, type CallEnd, type StreamCall } from "./stream-call.js";
import { OutgoingMessages } from "./outgoing-messages.js";
import type { SyncChannel } from "./sync-channel.js";
import type { TopicDocument } from "./topic-document.js";

/** A proxy sends at least a heartbeat every 20 s. */
export const silenceMs = 60_000;
/** More than any proxy sends on a stream of one topic: after each version it waits for the ack. */
const maxMessagesPerSecond = 1_000;
/** The proxy's limit; it ends the stream of an agent that exceeds it. */
const maxProviderIdBytes = 256;

export interface BuntingCall extends Pick<StreamCall, "headers" | "clock" | "connectTimeoutMs" | "opened"> {
  readonly topic: string;
  readonly providerId: string;
  readonly document: TopicDocument;
  /** Called with each message before it is applied. */
  received(response: SyncResponse, messageBytes: number): void;
  /** The topic was refused, or its subscription ended. Returns when to subscribe again, in ms. */
  refused(error: TopicError): number;
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
  const silence = new SilenceWatch(clock);

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
      case "topic_error":
        cancelRetry();
        cancelRetry = clock.after(call.refused(response), subscribe);
        return;
      default:
    }
  };

  const { headers, connectTimeoutMs } = call;
  try {
    return await runCall(
      channel,
      {
        headers,
        clock,
        connectTimeoutMs,
        messageName: "SyncResponse",
        open: (client, metadata, end) => {
          const stream = client.makeBidiStreamRequest<Buffer, Buffer>(
            syncPath,
            (message) => message,
            (message) => message,
            metadata,
          );
          outgoing = new OutgoingMessages((message, taken) => void stream.write(message, taken), clock);
          endCall = end;
          silence.start(() =>
            end(callEnd("silent", `the proxy has sent nothing for ${silenceMs / 1_000} s`)),
          );
          const providerId = cutToBytes(call.providerId, maxProviderIdBytes);
          send(encodeHello({ agent: `bunting-agent/${version}`, providerId }));
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

/** Calls back once if nothing was received for `silenceMs`, and counts what is. A message costs no timer. */
class SilenceWatch {
  readonly #clock: Clock;
  #heardMs = 0;
  #secondMs = 0;
  #messages = 0;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(silent: () => void): void {
    this.heard();
    const look = (): void => {
      const leftMs = this.#heardMs + silenceMs - this.#clock.monotonicMs();
      if (leftMs <= 0) silent();
      else this.#cancel = this.#clock.after(leftMs, look);
    };
    look();
  }

  /** False if there are more messages than a proxy sends. */
  heard(): boolean {
    this.#heardMs = this.#clock.monotonicMs();
    if (this.#heardMs - this.#secondMs >= 1_000) {
      this.#secondMs = this.#heardMs;
      this.#messages = 0;
    }
    return ++this.#messages <= maxMessagesPerSecond;
  }

  stop(): void {
    this.#cancel();
  }
}
