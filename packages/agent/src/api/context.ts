import type { EvaluationContext } from "@bunting/evaluation";
import type { RequestHeaders } from "./request-headers.js";

export interface ContextOptions {
  /** `--context-value`: what every evaluation's context gets. Values are strings, as flagd has them. */
  readonly contextValues: Readonly<Record<string, string>>;
  /** `--context-from-header`: header name (any case) to context key. */
  readonly contextFromHeader: Readonly<Record<string, string>>;
}

/** Adds to a request's context what the agent was told to add. With nothing to add it gives back what it was given. */
export interface ContextEnrichment {
  /** request < `--context-value` < `--context-from-header`. */
  readonly enrich: (context: EvaluationContext, headers: RequestHeaders) => EvaluationContext;
  /** Without headers: schema.v1 never looks at them. */
  readonly enrichStatic: (context: EvaluationContext) => EvaluationContext;
}

/** What a request without a context is evaluated against. */
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
        const value = headers.header(header);
        if (value !== undefined && value !== "") (values ??= {})[key] = value;
      }
      const enriched = enrichStatic(context);
      return values === undefined ? enriched : { ...enriched, ...values };
    },
  };
}
