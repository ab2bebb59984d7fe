import type { ResponseStream, RpcStatus } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";

/** How long a client may leave the end of its stream unread. */
const stalledMs = 5_000;

/**
 * Ends streams. Trailers queue behind what a client has not read: a client that has stopped reading never gets them, and its stream is
 * reset with a code that clients take as UNAVAILABLE.
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
