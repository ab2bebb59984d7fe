import { constants, type ServerHttp2Stream } from "node:http2";

/** A client that has not half-closed would keep its side of an answered stream open, and the memory of the stream with it. */
export function closeLeftOpen(stream: ServerHttp2Stream): void {
  if (!stream.closed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}
