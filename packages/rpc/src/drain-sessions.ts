import { systemClock, type Clock } from "@bunting/runtime";
import type { TransportSession, TransportStream } from "./transport.js";

export interface DrainOptions {
  /** The connections take their turn at random moments within this time, so that their clients do not all come back at once. */
  readonly windowMs: number;
  /** How long a connection has, from its turn on, to get out what is queued on it. */
  readonly graceMs: number;
  /** Hands the stream what it still should have, and ends it (with UNAVAILABLE, or its client may never come back). Must not throw. */
  readonly onStream: (stream: TransportStream) => void;
  /** Aborted: no more patience, everything is dropped now. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

/** What became of the connections. */
export interface DrainReport {
  readonly sessions: number;
  /** Streams that were cut off because their peer did not read. */
  readonly resetStreams: number;
}

/**
 * Moves all clients elsewhere, connection by connection: GOAWAY first, or a client would open its next stream here again; then each
 * stream ends with its trailers. Trailers queue behind data, so a peer that does not read never gets them: its streams are reset
 * with REFUSED_STREAM, which clients read as UNAVAILABLE too, and its connection is dropped. Resolves within `windowMs + graceMs`; no
 * session given, nor any that `sessions` was joined by in the meantime, is open then. Stop listening before.
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
      // A turn later: a peer that reads its connection, if not its streams, shall still get the RST_STREAMs.
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
