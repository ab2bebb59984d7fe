import { drainSessions } from "@bunting/server";
import { type RpcStatus, type TransportSession, type TransportStream } from "@bunting/rpc";
import { aborted, type Clock, type Runnable } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

export interface ConnectionAgeOptions {
  /** Maximum age of a connection, in ms; each gets a random tenth more or less. */
  readonly maxAgeMs: number;
  /** Time that a connection has to send its queued bytes, in ms. */
  readonly graceMs: number;
  /** Sends the stream the newest flags, and ends it with this status. */
  readonly drain: (stream: TransportStream, status: RpcStatus) => void;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

const ageStatus: RpcStatus = {
  code: "UNAVAILABLE",
  message: "this connection has reached its maximum age; connect again",
};
const jitter = 0.1;

/**
 * Ends connections of a certain age as a drain does, so that clients spread over replicas that started later. Connections
 * opened together would be due together: hence the jitter, which grows with the maximum age.
 */
export class ConnectionAge implements Runnable {
  readonly name = "connection age";
  readonly #options: ConnectionAgeOptions;
  readonly #dueMs = new Map<TransportSession, number>();

  constructor(options: ConnectionAgeOptions) {
    this.#options = options;
  }

  /** Starts to measure the age of a connection. */
  add(session: TransportSession): void {
    const { maxAgeMs, clock, random = Math.random } = this.#options;
    const ageMs = maxAgeMs * (1 - jitter + 2 * jitter * random());
    this.#dueMs.set(session, clock.monotonicMs() + ageMs);
    session.onClose(() => this.#dueMs.delete(session));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, maxAgeMs } = this.#options;
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = clock.after(Math.min(1_000, maxAgeMs / 10), () => {
        next();
        this.#endDue(signal);
      });
    };
    next();
    await aborted(signal);
    cancel();
  }

  #endDue(signal: AbortSignal): void {
    const { clock, graceMs, drain, metrics } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [session, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) continue;
      this.#dueMs.delete(session);
      metrics.connectionEnded("age");
      void drainSessions([session], {
        windowMs: 0,
        graceMs,
        clock,
        signal,
        onStream: (stream) => drain(stream, ageStatus),
      });
    }
  }
}
