import { GrpcStream } from "./grpc-stream.js";
import type { Http2Stream } from "./http2-stream.js";
import { OpenStreams } from "./open-streams.js";

/** The open streams of a session: calls of gRPC, and plain requests, which are all others. Each walk is over a copy, because streams leave as they end. */
export class SessionStreams extends OpenStreams<Http2Stream> {
  get calls(): readonly GrpcStream[] {
    return [...this.values()].filter((stream) => stream instanceof GrpcStream);
  }

  /** True if the client of a call has not taken all that it was sent. */
  get hasUnread(): boolean {
    return this.calls.some((stream) => stream.isStalledSince(Infinity));
  }

  /** Resets plain requests, so that nothing more is answered. */
  resetPlain(): void {
    for (const stream of [...this.values()])
      if (!(stream instanceof GrpcStream)) stream.reset("REFUSED_STREAM");
  }

  close(): void {
    for (const stream of [...this.values()]) stream.close();
  }
}
