import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

let handleKey: symbol | undefined;

const forget: (session: unknown) => void = () => {
  // Nothing is left to do: what mattered was the reference to the session.
};

/** Holds each session until its stream has been collected, so the session goes in a later collection. */
const collections = new FinalizationRegistry<object>(forget);

/**
 * Node's native object below a session, to be kept as long as the session may have streams. Node drops it when it destroys the session, and
 * its destructor aborts the process (`Assertion failed: (current_nghttp2_memory_) == (0)`) if a native stream still holds headers that nghttp2
 * has allocated for the session: those of a block that has not ended, or that was refused at its end. Streams that node destroys are freed a
 * turn or two later, and those with a write on the socket only by the garbage collector, which frees a session and its streams in any order.
 *
 * Undefined where node keeps it elsewhere; then nothing is kept.
 */
export function nativeSession(session: ServerHttp2Session): object | undefined {
  handleKey ??= Object.getOwnPropertySymbols(session).find(({ description }) => description === "kHandle");
  return handleKey === undefined ? undefined : (session as unknown as Record<symbol, object>)[handleKey];
}

/** Keeps a native session until its stream, which has just closed, and the native stream with it have been collected. */
export function keepForStream(session: object | undefined, stream: ServerHttp2Stream): void {
  // Without a write in flight, the native stream is freed in the next turns. All others would only be kept longer than necessary.
  if (session !== undefined && stream.writableLength > 0) collections.register(stream, session);
}

/** Keeps a native session until native streams that never reached JavaScript are gone. */
export function keepForTwoTurns(session: object | undefined): void {
  setImmediate(() => setImmediate(forget, session));
}
