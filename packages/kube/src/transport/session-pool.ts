import { KubeError } from "../kube-error.js";
import { abortedError } from "./foreign-error.js";
import type { KubeRequest } from "./kube-transport.js";
import type { PooledSession } from "./pooled-session.js";
import type { TransportContext } from "./transport-options.js";

type Open = (signal: AbortSignal) => Promise<PooledSession | undefined>;

interface Waiter {
  readonly take: (session: PooledSession | undefined) => void;
  readonly fail: (error: KubeError) => void;
}

/**
 * The sessions for one kind of request. Requests without a place wait in line. One session is opened at a time, however many wait; if it
 * can't be opened, all that wait fail, and retry with backoff on their own.
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

  /** Resolves with a session that has a place reserved; undefined if the server does not speak HTTP/2. */
  acquire(signal: AbortSignal): Promise<PooledSession | undefined> {
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
        take: (session) => {
          settle();
          resolve(session);
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
    for (const waiter of this.#waiters) {
      const session = this.#roomy();
      if (session === undefined) break;
      session.reserve();
      waiter.take(session);
    }
    if (this.#waiters.size > 0) this.#opening ??= this.#openAnother();
  }

  /** The oldest session with room, so that younger ones run empty and are closed. */
  #roomy(): PooledSession | undefined {
    for (const session of this.#sessions) if (session.hasRoom) return session;
    return undefined;
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
