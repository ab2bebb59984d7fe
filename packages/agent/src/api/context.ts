import type { EvaluationContext } from "@bunting/evaluation";
import { textHeader, type RequestHeaders } from "./request-headers.js";

export interface ContextOptions {
  /** `--context-value`: added to the context of every evaluation. Values are strings, as in flagd. */
  readonly contextValues: Readonly<Record<string, string>>;
  /** `--context-from-header`: from header name (any case) to context key. */
  readonly contextFromHeader: Readonly<Record<string, string>>;
}

/** Adds the configured values to a request's context. With nothing to add it returns the same object. */
export interface ContextEnrichment {
  /** Precedence: request < `--context-value` < `--context-from-header`. */
  readonly enrich: (context: EvaluationContext, headers: RequestHeaders) => EvaluationContext;
  /** Ignores headers, as schema.v1 does. */
  readonly enrichStatic: (context: EvaluationContext) => EvaluationContext;
}

/** The context of a request without one. */
export const emptyContext: EvaluationContext = Object.freeze({});

export function createContextEnrichment(options: ContextOptions): ContextEnrichment {
  const { contextValues } = options;
  const mappings = Object.entries(options.contextFromHeader).map(
    ([header, key]) => [header.toLowerCase(), key] as const,
  );
  const enrichStatic =
    Object.keys(contextValues).length === 0
      ? (context: EvaluationContext): EvaluationContext => context
      : (context: EvaluationContext): EvaluationContext => ({ ...context, ...contextValues });
  if (mappings.length === 0) return { enrich: enrichStatic, enrichStatic };
  return {
    enrichStatic,
    enrich: (context, headers) => {
      let values: Record<string, string> | undefined;
      for (const [header, key] of mappings) {
        const value = textHeader(headers, header);
        if (value !== undefined && value !== "") (values ??= {})[key] = value;
      }
      const enriched = enrichStatic(context);
      return values === undefined ? enriched : { ...enriched, ...values };
    },
  };
}
