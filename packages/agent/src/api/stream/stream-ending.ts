import type { ResponseStream, RpcStatus } from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import { DueQueue } from "./due-queue.js";

/** How long a client may leave the end of its stream unread. */
const stalledMs = 5_000;

/** The server's own deadline, `--stream-deadline`. */
export const streamDeadlineStatus: RpcStatus = {
  code: "DEADLINE_EXCEEDED",
  message: "stream closed due to server-side timeout",
};

/** Never OK, on which JavaScript stays stale for ever, and never CANCELLED, on which .NET stops for good. */
export const shutdownStatus: RpcStatus = { code: "UNAVAILABLE", message: "the agent is shutting down" };

/**
 * Ends streams. Trailers queue behind what a client has not read: one that reads no more never gets them, and is reset in a way
 * that clients take as UNAVAILABLE.
 */
export class StreamEnding {
  readonly #ending: DueQueue<ResponseStream>;

  constructor(clock: Clock) {
    this.#ending = new DueQueue(clock, stalledMs, (out) => out.stream.reset("REFUSED_STREAM"));
  }

  end(out: ResponseStream, status: RpcStatus): void {
    if (!out.stream.isOpen) return;
    this.#ending.touch(out);
    out.onClose(() => this.#ending.delete(out));
    out.end(status);
  }
}
