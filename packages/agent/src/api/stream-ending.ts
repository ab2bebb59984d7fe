import type { ResponseStream, RpcStatus } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";

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
  readonly #ending: Deadlines<ResponseStream>;

  constructor(clock: Clock) {
    this.#ending = new Deadlines(clock, stalledMs, (out) => out.stream.reset("REFUSED_STREAM"));
  }

  end(out: ResponseStream, status: RpcStatus): void {
    if (!out.stream.isOpen) return;
    this.#ending.start(out);
    out.onClose(() => this.#ending.cancel(out));
    out.end(status);
  }
}
