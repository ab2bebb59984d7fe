import { KubeError } from "../kube-error.js";
import { abortedError } from "./foreign-error.js";
import type { KubeRequest } from "./kube-transport.js";
import type { SessionSlot, PooledSession } from "./pooled-session.js";
import type { TransportContext } from "./transport-options.js";

type Open = (signal: AbortSignal) => Promise<PooledSession | undefined>;

interface Waiter {
  readonly isGuess: (() => boolean) | undefined;
  readonly take: (place: SessionSlot | undefined) => void;
  readonly fail: (error: KubeError) => void;
}

/** More sessions with room are not opened just to keep guesses apart from other watches: one is enough as a rule. */
const maxRoomy = 2;

/**
 * The sessions for one kind of request. Requests without a place wait in line. One session is opened at a time, however many wait; if it
 * can't be opened, those that no open session has room for fail, and retry with backoff on their own.
 *
 * Guesses are kept apart from other watches at the cost of one more session: they only join sessions that carry nothing else, and others
 * only join sessions without guesses. What turns out to exist may share its session with older guesses until it is opened again.
 */
export class SessionPool {
  readonly #kind: KubeRequest["kind"];
  readonly #open: Open;
  readonly #context: TransportContext;
  readonly #sessions = new Set<PooledSession>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  #opening: Promise<void> | undefined;
  #onEmpty: () => void = () => undefined;

  constructor(kind: KubeRequest["kind"], open: Open, context: TransportContext) {
    this.#kind = kind;
    this.#open = open;
    this.#context = context;
  }

  /** Resolves with a reserved place; undefined if the server does not speak HTTP/2. */
  acquire(signal: AbortSignal, isGuess?: () => boolean): Promise<SessionSlot | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closing.signal.aborted) {
        reject(abortedError(signal.reason));
        return;
      }
      const settle = (): void => {
        signal.removeEventListener("abort", onAbort);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        isGuess,
        take: (place) => {
          settle();
          resolve(place);
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      const onAbort = (): void => waiter.fail(abortedError(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#serve();
    });
  }

  /** Ends every session and fails all that wait; resolves once all sockets are closed. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const waiter of [...this.#waiters]) waiter.fail(abortedError());
    for (const session of this.#sessions) session.destroy("shutdown", abortedError());
    await this.#opening;
    if (this.#sessions.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  /** Gives places to those that wait, first come, first served; if some are left, opens another session. */
  #serve(): void {
    this.#place(maxRoomy);
    if (this.#waiters.size > 0) this.#opening ??= this.#openAnother();
  }

  /** Gives away places; guesses and others share a session only if this many have room. */
  #place(minRoomyToMix: number): void {
    for (const waiter of this.#waiters) {
      const session = this.#sessionFor(waiter.isGuess?.() ?? false, minRoomyToMix);
      if (session !== undefined) waiter.take(session.reserve(waiter.isGuess));
    }
  }

  /** The oldest session with room that carries nothing of the other kind: younger ones run empty and are closed. */
  #sessionFor(isGuess: boolean, minRoomyToMix: number): PooledSession | undefined {
    let oldest: PooledSession | undefined;
    let youngest: PooledSession | undefined;
    let roomy = 0;
    for (const session of this.#sessions) {
      if (!session.hasRoom) continue;
      if (session.carriesOnly(isGuess)) return session;
      oldest ??= session;
      youngest = session;
      roomy++;
    }
    if (roomy < minRoomyToMix) return undefined;
    // Each kind has its end of the line, so that they come apart again.
    return isGuess ? youngest : oldest;
  }

  async #openAnother(): Promise<void> {
    try {
      const session = await this.#open(this.#closing.signal);
      if (session === undefined) {
        for (const waiter of [...this.#waiters]) waiter.take(undefined);
      } else {
        this.#add(session);
        // Without this, a server that closes every connection would be dialled in a tight loop.
        if (!session.hasRoom) {
          throw new KubeError(
            "CONNECTION_LOST",
            `${this.#context.server} accepts no requests on a new connection`,
          );
        }
      }
    } catch (error) {
      this.#place(1);
      for (const waiter of [...this.#waiters]) waiter.fail(error as KubeError);
    } finally {
      this.#opening = undefined;
    }
    this.#serve();
  }

  #add(session: PooledSession): void {
    if (session.isOver) return;
    this.#sessions.add(session);
    session.onRoom = () => this.#serve();
    session.onClose = (reason) => {
      this.#sessions.delete(session);
      this.#context.listener.sessionClosed?.(this.#kind, reason);
      if (this.#sessions.size === 0) this.#onEmpty();
    };
    this.#context.listener.sessionOpened?.(this.#kind);
    if (this.#closing.signal.aborted) session.destroy("shutdown", abortedError());
  }
}
