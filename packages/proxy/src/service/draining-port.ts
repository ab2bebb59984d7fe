import { drainSessions, type PortListener } from "@bunting/server";
import { type RpcStatus, type TransportStream } from "@bunting/rpc";
import { sleep, within, type Component, type Context } from "@bunting/runtime";
import { listen } from "./listening-component.js";
import type { ProxyReadiness } from "./proxy-readiness.js";

export interface DrainTimes {
  /** Time for which connections are accepted and served after SIGTERM, in ms. */
  readonly delayMs: number;
  /** Time over which connections are ended, in ms. */
  readonly windowMs: number;
  /** Time that each connection has to send its queued bytes, in ms. */
  readonly graceMs: number;
}

export interface DrainingPortOptions {
  readonly port: PortListener;
  /** See SyncServices.drain. */
  readonly drainStream: (stream: TransportStream, status: RpcStatus) => boolean;
  readonly context: Pick<Context, "clock" | "logger">;
  readonly times: DrainTimes;
  readonly readiness: Pick<ProxyReadiness, "wasReady" | "listening" | "draining">;
}

const drainStatus: RpcStatus = { code: "UNAVAILABLE", message: "the proxy is shutting down; connect again" };

/**
 * The sync port. It opens at once, whatever the source does: a stock flagd sidecar exits if its connection is refused. It
 * closes in three steps, so that clients notice no more than a reconnect:
 * 1. It turns unready but still serves, until load balancers have noticed.
 * 2. It stops accepting connections.
 * 3. It ends connections one by one at random moments, each stream with its newest flags and UNAVAILABLE. Calls under way are answered.
 * After a failed start it closes at once: whoever started the process waits for the reason.
 */
export class DrainingPort implements Component {
  readonly name = "sync";
  readonly reason =
    "starts last, when all it needs is there; stops first, so that streams end before what feeds them";
  readonly #options: DrainingPortOptions;

  constructor(options: DrainingPortOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { port, context, readiness } = this.#options;
    await listen(this.name, port, context.logger);
    readiness.listening();
  }

  async stop(): Promise<void> {
    const { port, drainStream, readiness } = this.#options;
    const { delayMs, windowMs, graceMs } = this.#options.times;
    const { logger, clock } = this.#options.context;
    const isUnknown = port.sessions.size === 0 && !readiness.wasReady;
    readiness.draining();
    if (isUnknown) return port.close();
    logger.info({ connections: port.sessions.size, delayMs, windowMs }, "draining");
    await sleep(delayMs, new AbortController().signal, clock);
    const http = port.stopListening();
    const report = await drainSessions(port.sessions, {
      windowMs,
      graceMs,
      clock,
      onStream: (stream) => {
        if (!drainStream(stream, drainStatus)) stream.end(drainStatus);
      },
    });
    await within(graceMs, http, clock);
    await port.close();
    logger.info({ ...report }, "drained");
  }
}
