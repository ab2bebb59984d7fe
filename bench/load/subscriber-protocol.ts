import { buntingProtocol } from "./bunting-protocol.js";
import { flagdProtocol } from "./flagd-protocol.js";
import type { ReadHead } from "./message-head.js";

/** What a subscriber requests on each of its streams, and how it reads the responses. */
export interface SubscriberProtocol {
  readonly path: string;
  /** Request headers beyond those of every gRPC call. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The gRPC messages to send at once, with their prefixes. */
  readonly opening: Uint8Array;
  /** Whether nothing is sent after these. */
  readonly isHalfClosed: boolean;
  readonly readHead: ReadHead;
  /** How many bytes of a message `readHead` needs (fewer if the message is shorter). */
  readonly headBytes: number;
}

/** flagd.sync.v1, the same with a client that accepts gzip, and bunting.sync.v1 with acknowledgements. */
export type ProtocolName = "flagd" | "flagd+gzip" | "bunting";

export function subscriberProtocol(name: ProtocolName, topic: string): SubscriberProtocol {
  return name === "bunting" ? buntingProtocol(topic) : flagdProtocol(topic, name === "flagd+gzip");
}
