import { KubeError } from "../kube-error.js";
import type { WatchPriority } from "../watch-priority.js";
import { abortedError } from "./foreign-error.js";
import type { SessionSlot, PooledSession } from "./pooled-session.js";
import type { TransportContext } from "./transport-options.js";

type Open = (signal: AbortSignal) => Promise<PooledSession | undefined>;

interface Waiter {
  readonly priority: (() => WatchPriority) | undefined;
  readonly take: (slot: SessionSlot | undefined) => void;
  readonly fail: (error: KubeError) => void;
}

/** Priorities share a session rather than open another one if this many sessions have room. */
const maxRoomy = 2;

/**
 * The pool of sessions for one kind of request.
 *
 * Invariants:
 * - Requests without a slot wait, first come, first served.
 * - One session is opened at a time, however many requests wait. If it can't be opened, requests that no open
 *   session has room for fail; their callers retry with backoff.
 * - Speculative watches join only sessions without normal ones, and normal watches only sessions without
 *   speculative ones, at the cost of one more session. A watch that becomes normal shares its session with
 *   speculative ones until it is opened again.
 */
export class SessionPool {
  readonly #open: Open;
  readonly #context: TransportContext;
  readonly #sessions = new Set<PooledSession>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  #opening: Promise<void> | undefined;
  #onEmpty: () => void = () => undefined;

  constructor(open: Open, context: TransportContext) {
    this.#open = open;
    this.#context = context;
  }

  /** Resolves with a reserved slot; undefined if the server does not speak HTTP/2. */
  acquire(signal: AbortSignal, priority?: () => WatchPriority): Promise<SessionSlot | undefined> {
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
        priority,
        take: (slot) => {
          settle();
          resolve(slot);
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
    for (const session of this.#sessions) session.destroy(abortedError());
    await this.#opening;
    if (this.#sessions.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  /** Gives slots to waiting requests; opens another session if requests still wait. */
  #serve(): void {
    this.#assignSlots(maxRoomy);
    if (this.#waiters.size > 0) this.#opening ??= this.#openAnother();
  }

  /** Gives slots to waiting requests; both priorities share a session only if this many sessions have room. */
  #assignSlots(minRoomyToMix: number): void {
    for (const waiter of this.#waiters) {
      const session = this.#sessionFor(waiter.priority?.() ?? "normal", minRoomyToMix);
      if (session !== undefined) waiter.take(session.reserve(waiter.priority));
    }
  }

  /** The oldest session with room that carries this priority alone, so that younger ones run empty and are closed. */
  #sessionFor(priority: WatchPriority, minRoomyToMix: number): PooledSession | undefined {
    let oldest: PooledSession | undefined;
    let youngest: PooledSession | undefined;
    let roomy = 0;
    for (const session of this.#sessions) {
      if (!session.hasRoom) continue;
      if (session.carriesOnly(priority)) return session;
      oldest ??= session;
      youngest = session;
      roomy++;
    }
    if (roomy < minRoomyToMix) return undefined;
    // Each priority has its own end of the list, so that they come apart again.
    return priority === "speculative" ? youngest : oldest;
  }

  async #openAnother(): Promise<void> {
    try {
      const session = await this.#open(this.#closing.signal);
      if (session === undefined) {
        for (const waiter of [...this.#waiters]) waiter.take(undefined);
      } else {
        this.#add(session);
        // Without this, a server that closes every connection would be dialled in a tight loop.
        if (!session.hasRoom)
          throw new KubeError(
            "CONNECTION_LOST",
            `${this.#context.server} accepts no requests on a new connection`,
          );
      }
    } catch (error) {
      this.#assignSlots(1);
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
    session.onClose = () => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#onEmpty();
    };
    if (this.#closing.signal.aborted) session.destroy(abortedError());
  }
}
