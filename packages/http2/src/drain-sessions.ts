import { systemClock, type Clock } from "@bunting/runtime";
import type { TransportSession, TransportStream } from "./transport.js";

export interface DrainOptions {
  /** Each connection is ended at a random moment within this time, so that clients do not all reconnect at once. */
  readonly windowMs: number;
  /** Time after the end of a connection for what is queued on it. */
  readonly graceMs: number;
  /** Writes the last message to the stream and ends it (with UNAVAILABLE, or the client may never reconnect). Must not throw. */
  readonly onStream: (stream: TransportStream) => void;
  /** On abort everything is dropped at once. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

/** The ends of the connections. */
export interface DrainReport {
  readonly sessions: number;
  /** Streams that were reset because their peer did not read, or because they were not answered in time. */
  readonly resetStreams: number;
}

/**
 * Moves all clients elsewhere, connection by connection: first GOAWAY, or a client would open its next stream here again; then each
 * stream ends with its trailers. Trailers queue behind data, so a peer that does not read never gets them: its streams are reset
 * with REFUSED_STREAM, which clients also read as UNAVAILABLE, and its connection is dropped. Resolves within `windowMs + graceMs`; by
 * then no session is open, including those added to `sessions` in the meantime. Stop listening first.
 */
export async function drainSessions(
  sessions: Iterable<TransportSession>,
  options: DrainOptions,
): Promise<DrainReport> {
  const { windowMs, random = Math.random } = options;
  const draining = [...sessions].map((session) => drainSession(session, random() * windowMs, options));
  const resetStreams = await Promise.all(draining);
  for (const session of sessions) session.destroy();
  return { sessions: draining.length, resetStreams: resetStreams.reduce((sum, count) => sum + count, 0) };
}

/** Resolves when the session has closed, to the number of its streams that were reset. */
function drainSession(session: TransportSession, delayMs: number, options: DrainOptions): Promise<number> {
  const { graceMs, onStream, signal, clock = systemClock } = options;
  return new Promise((resolve) => {
    let resetStreams = 0;
    const cutOff = (): void => {
      const streams = [...session.streams];
      resetStreams = streams.length;
      for (const stream of streams) stream.reset("REFUSED_STREAM");
      // A turn later, so that a peer which reads its connection, though not its streams, still gets the RST_STREAMs.
      setImmediate(() => session.destroy());
    };
    const begin = (): void => {
      cancel = clock.after(graceMs, cutOff);
      session.goaway();
      for (const stream of [...session.streams]) onStream(stream);
    };
    let cancel = clock.after(delayMs, begin);
    signal?.addEventListener("abort", cutOff, { once: true });
    session.onClose(() => {
      cancel();
      signal?.removeEventListener("abort", cutOff);
      resolve(resetStreams);
    });
    if (signal?.aborted === true) cutOff();
  });
}
