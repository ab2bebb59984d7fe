import { buntingProtocol } from "./bunting-protocol.js";
import { flagdProtocol } from "./flagd-protocol.js";
import type { ReadHead } from "./message-head.js";

/** What a subscriber asks for on each of its streams, and how it reads what comes. */
export interface SubscriberProtocol {
  readonly path: string;
  /** Request headers beyond those of every gRPC call. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The gRPC messages to send at once, with their prefixes. */
  readonly opening: Uint8Array;
  /** Whether nothing is sent after the opening. */
  readonly isHalfClosed: boolean;
  readonly readHead: ReadHead;
  /** How much of a message `readHead` must be given (less where the message is shorter). */
  readonly headBytes: number;
}

/** flagd.sync.v1, the same by a client that accepts gzip, and bunting.sync.v1 with acknowledgement. */
export type ProtocolName = "flagd" | "flagd+gzip" | "bunting";

export function subscriberProtocol(name: ProtocolName, topic: string): SubscriberProtocol {
  return name === "bunting" ? buntingProtocol(topic) : flagdProtocol(topic, name === "flagd+gzip");
}
