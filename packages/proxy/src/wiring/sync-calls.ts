import { reflectionService, type CallPacing, type Method } from "@bunting/rpc";
import type { ConnectionAge } from "../service/connection-age.js";
import { encryptionOf } from "../service/service-metrics.js";
import type { ProxyWiring } from "./proxy-wiring.js";
import type { SyncServices } from "./sync-services.js";

/** The largest requests are the acks of agents that reject a hundred flags with long keys. */
const maxRequestBytes = 128 * 1024;

export interface SyncCallsParts {
  readonly services: SyncServices;
  readonly healthMethods: readonly Method[];
  readonly connectionAge: ConnectionAge | undefined;
}

/** The calls of the sync port, and what slows down connections that make too many of them. */
export function syncCalls(
  wiring: ProxyWiring,
  { services, healthMethods, connectionAge }: SyncCallsParts,
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
