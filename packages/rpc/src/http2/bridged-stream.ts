import { constants, type ServerHttp2Stream } from "node:http2";
import type { WatchedStream } from "../limits/stall-watch.js";
import type { ResetCode } from "../transport.js";

/**
 * An HTTP/2 request that is not gRPC. Listeners for HTTP/1.1 write to node's stream directly, so what it owes its peer is looked up at each
 * sweep. Requests that do not arrive and answers that do not come count too: no such request takes as long as a stall. But an answer that has
 * begun, and of which everything is sent, may go on later: it is a stream of events.
 */
export class BridgedStream implements WatchedStream {
  readonly #stream: ServerHttp2Stream;
  readonly #clock: { readonly tick: number };
  #unsentBytes = 0;
  #since: number;

  constructor(stream: ServerHttp2Stream, clock: { readonly tick: number }) {
    this.#stream = stream;
    this.#clock = clock;
    this.#since = clock.tick;
  }

  isStalledSince(tick: number): boolean {
    const unsentBytes = this.#stream.writableLength;
    const { headersSent, readableEnded, writableEnded } = this.#stream;
    const isQuiet = unsentBytes === 0 && headersSent && readableEnded && !writableEnded;
    if (isQuiet || unsentBytes !== this.#unsentBytes) {
      this.#unsentBytes = unsentBytes;
      this.#since = this.#clock.tick;
    }
    return this.#since <= tick;
  }

  reset(code: ResetCode): void {
    this.#stream.close(constants[`NGHTTP2_${code}`]);
    // See Http2Stream.reset.
    this.#stream.destroy();
  }
}
