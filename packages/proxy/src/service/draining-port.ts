import { drainSessions, type PortListener, type RpcStatus, type TransportStream } from "@bunting/rpc";
import { sleep, type Clock, type Component, type Logger } from "@bunting/runtime";
import { listen } from "./listening-component.js";

export interface DrainingPortOptions {
  readonly port: PortListener;
  /** Sends a stream what is newest, then ends it. False if it carries no flags. */
  readonly drainStream: (stream: TransportStream, status: RpcStatus) => boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How long to accept and serve on after being told to stop. */
  readonly delayMs: number;
  /** The time over which connections take their turn. */
  readonly windowMs: number;
  /** How long a connection has from its turn on. */
  readonly graceMs: number;
  readonly onListening: () => void;
  readonly onDraining: () => void;
}

const goodbye: RpcStatus = { code: "UNAVAILABLE", message: "the proxy is shutting down; connect again" };

/**
 * The sync port. It opens at once, whatever the source does: a stock flagd sidecar that is refused a connection exits. It closes in three
 * steps, so that nobody notices more than a reconnect: unready but serving on, until load balancers look elsewhere; deaf to new
 * connections; then connection by connection, at random moments, each stream its newest flags and UNAVAILABLE.
 */
export class DrainingPort implements Component {
  readonly name = "sync";
  readonly reason =
    "last up, as nothing it needs is missing then; first down, so that streams end before what feeds them";
  readonly #options: DrainingPortOptions;

  constructor(options: DrainingPortOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { port, logger, onListening } = this.#options;
    await listen(this.name, port, logger);
    onListening();
  }

  async stop(): Promise<void> {
    const { port, drainStream, logger, clock, delayMs, windowMs, graceMs, onDraining } = this.#options;
    onDraining();
    logger.info({ connections: port.sessions.size, delayMs, windowMs }, "draining");
    await sleep(delayMs, new AbortController().signal, clock);
    port.stopListening();
    const report = await drainSessions(port.sessions, {
      windowMs,
      graceMs,
      clock,
      onStream: (stream) => {
        if (!drainStream(stream, goodbye)) stream.end(goodbye);
      },
    });
    await port.close();
    logger.info({ ...report }, "drained");
  }
}
