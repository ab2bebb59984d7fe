import { ReadFairness, type PeerMemory, type PortListener, type TlsTermination } from "@bunting/server";
import type { ProxyWiring } from "./proxy-wiring.js";
import { endpointOf, type PortEvents } from "./sync-limits.js";
import { syncCalls, type SyncCallsParts } from "./sync-calls.js";

const maxHeaderBytes = 16 * 1024;

export interface SyncPortParts extends SyncCallsParts {
  readonly memory: PeerMemory;
  readonly tls: TlsTermination | undefined;
  readonly events: PortEvents;
}

/** The port that agents, other proxies and providers connect to. */
export function syncPort(wiring: ProxyWiring, ports: SyncPortParts): PortListener {
  const { options, parts } = wiring;
  const { clock, logger, log, metrics } = wiring.context;
  const { stallTimeout, maxStreamsPerConnection } = options;
  const { memory, tls, events } = ports;
  const port = new parts.PortListener({
    endpoint: endpointOf(options.port, options.host),
    optionName: "--port",
    logger,
    grpc: syncCalls(wiring, ports),
    tls,
    limits: { maxStreamsPerConnection, maxHeaderBytes },
    // Only those that access lets in: health and reflection are for everyone, and must not hold a place.
    admitsLater: true,
    memory,
    turns: new ReadFairness({ perTurn: 128, restFactor: 1, clock }),
    keepalive: { intervalMs: options.keepaliveInterval, timeoutMs: options.keepaliveTimeout, clock },
    stall: {
      timeoutMs: stallTimeout,
      clock,
      onStreamStalled: () => {
        metrics.stalled();
        log.warn("stalled", { stallTimeoutMs: stallTimeout }, "ended a stream whose peer does not read");
      },
    },
    ...events,
    onReadingResumed: () => metrics.readingHeld(),
    onStreamLimit: ({ remoteAddress: peer }) => {
      metrics.streamLimitReached();
      log.warn(
        "stream_limit",
        { peer },
        "a connection has as many streams as --max-streams-per-connection allows: its client's further ones wait",
      );
    },
  });
  metrics.readConnections(() => port.sessions);
  return port;
}
