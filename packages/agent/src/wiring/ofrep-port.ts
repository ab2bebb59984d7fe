import type { PortListener, PortListenerOptions } from "@bunting/server";
import type { WebApi } from "../api/http/web-api.js";
import { OfrepAnswers } from "../api/ofrep/ofrep-answers.js";
import type { AgentWiring } from "./agent-wiring.js";
import type { FlagServices } from "./flag-services.js";

/** The port of OFREP, which speaks HTTP/1.1 only. */
export function ofrepPort(
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
