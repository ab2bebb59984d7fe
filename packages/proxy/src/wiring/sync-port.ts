import { reflectionService, type CallPacing, type Method } from "@bunting/rpc";
import { ReadFairness, type PeerMemory, type PortListener, type TlsTermination } from "@bunting/server";
import type { ProxyWiring } from "./proxy-wiring.js";
import { endpointOf, type PortEvents } from "./sync-limits.js";
import type { ConnectionAge } from "../service/connection-age.js";
import { encryptionOf } from "../service/service-metrics.js";
import type { SyncServices } from "./sync-services.js";

const maxHeaderBytes = 16 * 1024;
/** The largest requests are the acks of agents that reject a hundred flags with long keys. */
const maxRequestBytes = 128 * 1024;

export interface SyncPortParts {
  readonly services: SyncServices;
  readonly healthMethods: readonly Method[];
  readonly connectionAge: ConnectionAge | undefined;
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

/** The calls of the sync port, and what slows down connections that make too many of them. */
function syncCalls(
  wiring: ProxyWiring,
  { services, healthMethods, connectionAge }: SyncPortParts,
): CallPacing {
  const { parts } = wiring;
  const { clock, logger, log, metrics } = wiring.context;
  const methods = [...services.methods, ...healthMethods];
  const handler = new parts.GrpcServer({
    methods: [...methods, ...reflectionService(methods.map(({ path }) => path))],
    logger,
    clock,
    messages: { maxMessageBytes: maxRequestBytes },
    onSession: (session) => {
      metrics.connectionOpened(encryptionOf(session));
      connectionAge?.add(session);
    },
  });
  return new parts.CallPacing({
    handler,
    clock,
    onWaiting: (delta) => metrics.callsWaiting(delta),
    onDelayed: ({ remoteAddress: peer }) => {
      metrics.callDelayed();
      log.warn(
        "call_pacing",
        { peer },
        "a connection makes so many short calls that they have to wait; others are served at once",
      );
    },
  });
}
