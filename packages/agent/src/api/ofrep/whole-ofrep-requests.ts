import type { WholeAnswer, WholeRequest, WholeRequestHandler } from "@bunting/server";
import { varyByOrigin } from "../http/cors.js";
import { jsonHeaders } from "../http/json-body.js";
import { selectorHeader } from "../selection.js";
import type { OfrepAnswers } from "./ofrep-answers.js";
import { flagRoute } from "./ofrep-listener.js";
import { parseOfrepTarget } from "./ofrep-path.js";
import type { WebApi } from "../http/web-api.js";

export interface WholeOfrepRequestsOptions {
  readonly answers: OfrepAnswers;
  readonly web: Pick<WebApi, "metrics" | "clock" | "maxRequestBodyBytes">;
  /** The headers that `--context-from-header` names. */
  readonly contextHeaders: readonly string[];
}

/** Those of the listener's answers, as lines. */
const headers = Object.entries({ ...varyByOrigin, ...jsonHeaders })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** Most requests of OFREP: small ones for one flag, from no browser. They are answered, and counted, as the listener of OFREP does it. */
export function wholeOfrepRequests(options: WholeOfrepRequestsOptions): WholeRequestHandler {
  const { contextHeaders } = options;
  const { metrics, clock, maxRequestBodyBytes } = options.web;
  return {
    headerNames: [...new Set([selectorHeader, ...contextHeaders.map((name) => name.toLowerCase())])],
    maxBodyBytes: maxRequestBodyBytes === 0 ? Infinity : maxRequestBodyBytes,
    answer: (request) => {
      const startedMs = clock.monotonicMs();
      const target = parseOfrepTarget(request.target);
      if (target.kind !== "flag") return undefined;
      metrics.httpActiveRequests(flagRoute, "POST", 1);
      const answer = flagAnswer(target.key, request, options);
      metrics.httpRequest("ofrep", flagRoute, {
        method: "POST",
        status: answer.status,
        durationMs: clock.monotonicMs() - startedMs,
        requestBytes: request.body.length,
        responseBytes: Buffer.byteLength(answer.body),
        httpVersion: "1.1",
        host: request.host,
      });
      metrics.httpActiveRequests(flagRoute, "POST", -1);
      return answer;
    },
  };
}

function flagAnswer(
  key: string,
  request: WholeRequest,
  { answers, web }: WholeOfrepRequestsOptions,
): WholeAnswer {
  const { status, json, refusal } = answers.flag(key, request.body, request);
  if (refusal !== undefined) web.metrics.requestRefused(refusal);
  return { status, headers, body: json };
}
