import type { PeerAccount } from "./account.js";
import { RpcError } from "./status.js";
import type { WriteListener } from "./transport.js";

/** Account that content is charged to: the stream, elsewhere the whole answer until its stream has closed, or none: it is shared. */
export type Charge = "stream" | "answer" | "none";

/** Content of a stream that waits to be sent, or for the system to take it. */
export interface Outgoing {
  readonly bytes: Uint8Array;
  readonly charge: Charge;
  readonly onWritten: WriteListener | undefined;
  framedBytes: number;
  next: Outgoing | undefined;
}

/** Takes back what is charged for content of a stream that has closed. Returns what is still charged, because a batch may hold it. */
export function releaseUnframed(oldest: Outgoing | undefined, account: PeerAccount): number {
  let framedBytes = 0;
  for (let each = oldest; each !== undefined; each = each.next) {
    const { charge, bytes } = each;
    if (charge === "none") continue;
    if (each.framedBytes > 0) {
      // A slice holds all of it.
      framedBytes += bytes.length;
      if (charge === "answer") account.charge(bytes.length);
    } else if (charge === "stream") account.release(bytes.length);
  }
  return framedBytes;
}

export function callWriteListener(listener: WriteListener | undefined, error?: Error): void {
  if (typeof listener === "function") listener(error);
  else listener?.onWritten(error);
}

/** The error of content that was not sent. */
export function streamEnded(): RpcError {
  return new RpcError("UNAVAILABLE", "the stream ended before the frame was written");
}
