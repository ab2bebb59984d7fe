import {
  LongRequestQueue,
  ReadFairness,
  type Callers,
  type PortListener,
  type TlsTermination,
  type PortListenerOptions,
} from "@bunting/server";
import type { Component } from "@bunting/runtime";
import { admittedCalls } from "../api/grpc/admitted-calls.js";
import { evaluationGrpcHeaders } from "../api/grpc/grpc-headers.js";
import { evaluationMethods } from "../api/grpc/grpc-methods.js";
import { syncGrpcHeaders } from "../api/sync/sync-headers.js";
import type { NamedEndpoint } from "../endpoints.js";
import type { AgentWiring } from "./agent-wiring.js";
import type { FlagServices } from "./flag-services.js";
import { grpcCalls, type PortLimits } from "./port-limits.js";
import type { WebApi } from "../api/http/web-api.js";
import { OfrepAnswers } from "../api/ofrep/ofrep-answers.js";

export interface ApplicationPorts {
  readonly evaluation: PortListener;
  readonly sync: PortListener;
  readonly ofrep: PortListener;
  /** Code to load before the sync port listens; undefined without --sync-http-enabled. */
  readonly syncHttp: Component | undefined;
}

export interface ApplicationPortsParts {
  readonly services: FlagServices;
  readonly limits: PortLimits;
  /** Undefined if anybody is answered. */
  readonly callers: Callers | undefined;
  readonly tls: TlsTermination | undefined;
}

export function applicationPorts(wiring: AgentWiring, ports: ApplicationPortsParts): ApplicationPorts {
  const { options, parts } = wiring;
  const { clock, logger, metrics } = wiring.context;
  const { services, limits, callers } = ports;
  const { events, sync, selections } = services;
  const { evaluationEndpoint, syncEndpoint, ofrepEndpoint } = parts.endpoints(options);
  const tlsOf = ({ endpoint }: NamedEndpoint): TlsTermination | undefined =>
    "socketPath" in endpoint ? undefined : ports.tls;
  // One for all of them: probes have their own turns, for the same reason as their own memory.
  const listening = { ...limits.listening, memory: limits.memory, turns: new ReadFairness() };
  const longRequests = new LongRequestQueue();
  metrics.longRequests(() => longRequests);
  const { maxRequestBody: maxRequestBodyBytes } = options;
  const cors = parts.createCors(options.corsOrigin);
  const web = { cors, callers, metrics, clock, maxRequestBodyBytes, longRequests };

  const methods = evaluationMethods(services.evaluation, events, longRequests);
  const evaluationCalls = grpcCalls(wiring, methods, metrics.grpcCalls(true), "connect-go");
  const evaluation = new parts.PortListener({
    ...evaluationEndpoint,
    ...listening,
    tls: tlsOf(evaluationEndpoint),
    grpc: admittedCalls(evaluationCalls, callers),
    grpcHeaders: evaluationGrpcHeaders,
    http: parts.createConnectListener({ services: services.evaluation, events, logger, web }),
  });
  const http = options.syncHttpEnabled ? parts.syncHttp({ sync, selections, ...web }) : undefined;
  const syncPort = new parts.PortListener({
    ...syncEndpoint,
    ...listening,
    tls: tlsOf(syncEndpoint),
    grpc: admittedCalls(grpcCalls(wiring, sync.methods(), metrics.grpcCalls(false)), callers),
    grpcHeaders: syncGrpcHeaders,
    ...(http && { http: http.listener }),
  });
  const ofrep = ofrepPort(wiring, services, { ...ofrepEndpoint, ...listening }, web);
  return { evaluation, sync: syncPort, ofrep, syncHttp: http?.component };
}

/** The port of OFREP, which speaks HTTP/1.1 only. */
function ofrepPort(
  wiring: AgentWiring,
  { evaluator, unread, telemetry, selections, context, sse }: FlagServices,
  listening: PortListenerOptions,
  web: WebApi,
): PortListener {
  const { options, parts } = wiring;
  const { logger, metrics } = wiring.context;
  const events = sse && {
    streams: sse,
    inactivityDelaySec: options.ofrepSseInactivityDelay,
    publicUrl: options.ofrepSsePublicUrl,
  };
  const answers = new OfrepAnswers({ evaluator, unread, selections, context, metrics, logger, sse: events });
  const contextHeaders = Object.keys(options.contextFromHeader);
  // Requests with a token to check, or with a trace to go on, cost more than what this saves.
  const isPlain = web.callers === undefined && !telemetry.isOn;
  return new parts.PortListener({
    ...listening,
    http: telemetry.ofrep(parts.createOfrepListener({ answers, selections, web, sse: events })),
    ...(isPlain && { wholeRequests: parts.wholeOfrepRequests({ answers, contextHeaders, web }) }),
  });
}
