import type { RequestListener } from "node:http";
import { RpcError } from "@bunting/rpc";
import { cut } from "@bunting/runtime";
import type { EvaluationService } from "../api/evaluation-service.js";
import { parseOfrepTarget } from "../api/ofrep/ofrep-path.js";
import type { RequestHeaders } from "../api/request-headers.js";

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface StartedSpan {
  /** A span within this one. */
  child(name: string, attributes: SpanAttributes): StartedSpan;
  /** Ends it. With an error, the span has failed. */
  end(attributes: SpanAttributes, error?: Error): void;
}

/** Starts spans; as a child of what the request's W3C `traceparent` names, if it has one. */
export interface SpanStarter {
  serve(name: string, headers: RequestHeaders, attributes: SpanAttributes): StartedSpan;
}

const providerName = { "feature_flag.provider.name": "flagd" };

/** A service whose evaluations are spans, named as flagd's. */
export function traceEvaluations(service: EvaluationService, starter: SpanStarter): EvaluationService {
  const { dialect } = service;
  const serve = (method: string, headers: RequestHeaders): StartedSpan =>
    starter.serve(`${dialect.service}/${method}`, headers, {
      "rpc.service": dialect.service,
      "rpc.method": method,
    });
  return {
    dialect,
    resolve: (accessor, request, headers) => {
      const served = serve(`Resolve${accessor}`, headers);
      const evaluation = served.child(`flagEvaluationService(resolve${accessor})`, {
        ...providerName,
        "feature_flag.key": cut(request.flagKey),
      });
      const answer = traced(served, evaluation, () => service.resolve(accessor, request, headers));
      evaluation.end({
        "feature_flag.result.variant": cut(answer.variant ?? ""),
        "feature_flag.result.reason": answer.reason,
      });
      served.end({});
      return answer;
    },
    resolveAll: (context, headers) => {
      const served = serve("ResolveAll", headers);
      const evaluation = served.child("flagEvaluationService(resolveAll)", providerName);
      const answer = traced(served, evaluation, () => service.resolveAll(context, headers));
      evaluation.end({ "feature_flag.count": answer.flags.length });
      served.end({});
      return answer;
    },
  };
}

/** A listener for OFREP whose requests are spans. */
export function traceOfrep(listener: RequestListener, starter: SpanStarter): RequestListener {
  return (request, response) => {
    const target = parseOfrepTarget(request.url ?? "");
    if (target.kind === "bulk" || target.kind === "flag") {
      const route = target.kind === "bulk" ? "/ofrep/v1/evaluate/flags" : "/ofrep/v1/evaluate/flags/{key}";
      const method = request.method ?? "";
      const header = (name: string): string | undefined => {
        const value = request.headers[name];
        return typeof value === "string" ? value : value?.[0];
      };
      const span = starter.serve(
        `${method} ${route}`,
        { header },
        {
          "http.request.method": method,
          "http.route": route,
          ...providerName,
          "feature_flag.key": target.kind === "flag" ? cut(target.key) : undefined,
        },
      );
      response.once("close", () => {
        const status = response.statusCode;
        const error = status < 500 ? undefined : new Error(`answered ${status}`);
        span.end({ "http.response.status_code": status }, error);
      });
    }
    listener(request, response);
  };
}

/** Ends the spans with the error if there is one. The client's own mistakes do not fail the call's span. */
function traced<T>(served: StartedSpan, evaluation: StartedSpan, evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    evaluation.end({}, error as Error);
    const code = error instanceof RpcError ? error.code : "INTERNAL";
    served.end({ "rpc.response.status_code": code }, isOurs(code) ? (error as Error) : undefined);
    throw error;
  }
}

/** As OpenTelemetry's conventions for servers have it. */
function isOurs(code: string): boolean {
  return ["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"].includes(
    code,
  );
}
