import { drainSessions } from "@bunting/server";
import { type RpcStatus, type TransportSession, type TransportStream } from "@bunting/rpc";
import { aborted, type Runnable, type Context } from "@bunting/runtime";
import type { ProxyMetrics } from "../proxy-metrics.js";

export interface ConnectionAgeOptions {
  /** Maximum age of a connection, in ms; each gets a random tenth more or less. */
  readonly maxAgeMs: number;
  /** Time that a connection has to send its queued bytes, in ms. */
  readonly graceMs: number;
  /** Sends the stream the newest flags, and ends it with this status, unless it is about to end by itself. */
  readonly drain: (stream: TransportStream, status: RpcStatus) => void;
  readonly context: Pick<Context<ProxyMetrics>, "clock" | "metrics">;
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
    const { maxAgeMs, context, random = Math.random } = this.#options;
    const ageMs = maxAgeMs * (1 - jitter + 2 * jitter * random());
    this.#dueMs.set(session, context.clock.monotonicMs() + ageMs);
    session.onClose(() => this.#dueMs.delete(session));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { context, maxAgeMs } = this.#options;
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = context.clock.after(Math.min(1_000, maxAgeMs / 10), () => {
        next();
        this.#endDue(signal);
      });
    };
    next();
    await aborted(signal);
    cancel();
  }

  #endDue(signal: AbortSignal): void {
    const { context, graceMs, drain } = this.#options;
    const nowMs = context.clock.monotonicMs();
    for (const [session, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) continue;
      this.#dueMs.delete(session);
      context.metrics.connectionEnded("age");
      void drainSessions([session], {
        windowMs: 0,
        graceMs,
        clock: context.clock,
        signal,
        onStream: (stream) => drain(stream, ageStatus),
      });
    }
  }
}
