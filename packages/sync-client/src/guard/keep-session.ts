import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { nativeSessionOf } from "@bunting/server/clients";

const collections = new FinalizationRegistry<object>(() => {
  // Nothing is left to do: what mattered was the reference to the session.
});

/**
 * Keeps node's native session until this stream of it has been collected. Node drops it when it destroys the session, and its destructor aborts
 * the process (`Assertion failed: (current_nghttp2_memory_) == (0)`) if a native stream still holds headers that nghttp2 has allocated for the
 * session: a server need only not end the headers of a response. Servers are not affected: their HTTP/2 is ours.
 */
export function keepSession(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
  if (stream.pending) stream.once("ready", () => keep(session, stream));
  else keep(session, stream);
}

function keep(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
  const native = nativeSessionOf(session);
  if (native !== undefined) collections.register(stream, native);
}
