import type { EvaluationContext, ResolvedFlag, Resolution } from "@bunting/evaluation";
import type { AllAnswer, Answer, AnyFlagAnswer } from "./answer.js";
import type { ApiMetrics } from "./api-metrics.js";
import type { FlagEvaluator, UnreadSources } from "./backend.js";
import type { ResolveRequest } from "./codec/resolve-request.js";
import type { ContextEnrichment } from "./context.js";
import type { Dialect } from "./dialect.js";
import { evaluationError, type ApiErrorCode } from "./evaluation-error.js";
import { textHeader, type RequestHeaders } from "./request-headers.js";
import { selectorHeader, type Selection, type Selections } from "./selection.js";
import { accessorOf, typedValue, zeroValue, type Accessor } from "./typed-value.js";

export interface EvaluationDependencies {
  readonly evaluator: FlagEvaluator;
  readonly unread: UnreadSources;
  readonly selections: Selections;
  readonly context: ContextEnrichment;
  readonly metrics: ApiMetrics;
}

/** The evaluation protocol of one dialect, without its encoding: gRPC and Connect add that. */
export interface EvaluationService {
  readonly dialect: Dialect;
  /** @throws RpcError: the status that the call ends with. */
  resolve(accessor: Accessor, request: ResolveRequest, headers: RequestHeaders): Answer;
  resolveAll(context: EvaluationContext, headers: RequestHeaders): AllAnswer;
}

export function createEvaluationService(
  dialect: Dialect,
  dependencies: EvaluationDependencies,
): EvaluationService {
  const { evaluator, unread, selections, context: enrichment, metrics } = dependencies;
  const enrich = dialect.mapsHeadersToContext ? enrichment.enrich : enrichment.enrichStatic;

  /** Counts a flag that is left out of the answer, as flagd does: over v1, it leaves flags out before it evaluates them, and counts none. */
  const countUnsaid = ({ flag, resolution }: ResolvedFlag): void => {
    if (dialect.resolveAll === "with-metadata") return;
    const { reason, errorCode = "GENERAL", variant = "" } = resolution;
    if (reason === "ERROR") metrics.evaluationFailed(flag.key, errorCode);
    else metrics.evaluated(flag.key, reason, variant);
  };

  const answerAll = (context: EvaluationContext, selection: Selection): AnyFlagAnswer[] => {
    // Of a key that is listed for several flag sets, the last one counts, as in flagd.
    const answers = new Map<string, AnyFlagAnswer>();
    for (const item of evaluator.resolveAll(context, selection.select)) {
      const answer = anyFlagAnswer(dialect, item, selection);
      if (answer === undefined) {
        countUnsaid(item);
        continue;
      }
      answers.set(answer.key, answer);
      if (answer.error !== undefined) metrics.evaluationFailed(answer.key, answer.error);
      else metrics.evaluated(answer.key, item.resolution.reason, answer.variant);
    }
    return [...answers.values()];
  };

  return {
    dialect,
    resolve: (accessor, request, headers) => {
      const selection = selections.of(textHeader(headers, selectorHeader));
      const context = enrich(request.context, headers);
      const resolution = evaluator.resolve(request.flagKey, context, selection.select);
      const outcome =
        resolution.errorCode === "FLAG_NOT_FOUND" && unread.mayLack(selection)
          ? "PROVIDER_NOT_READY"
          : outcomeOf(dialect, accessor, resolution, selection);
      if (typeof outcome === "string") {
        metrics.evaluationFailed(request.flagKey, outcome);
        throw evaluationError(outcome);
      }
      metrics.evaluated(request.flagKey, resolution.reason, outcome.variant ?? "");
      return outcome;
    },
    resolveAll: (requested, headers) => {
      const selection = selections.of(textHeader(headers, selectorHeader));
      const context = enrich(requested, headers);
      const flags = answerAll(context, selection);
      if (flags.length === 0 && unread.mayLack(selection)) throw evaluationError("PROVIDER_NOT_READY");
      return { flags, metadata: selection.metadata };
    },
  };
}

function outcomeOf(
  dialect: Dialect,
  accessor: Accessor,
  resolution: Resolution,
  selection: Selection,
): Answer | ApiErrorCode {
  const { reason } = resolution;
  if (reason === "ERROR") return resolution.errorCode ?? "GENERAL";
  const metadata = selection.metadataOf(resolution.metadata);
  if (reason === "DISABLED" || reason === "FALLBACK") return dialect.withoutValue(reason, accessor, metadata);
  const value = typedValue(accessor, resolution.value);
  return value === undefined ? "TYPE_MISMATCH" : { value, reason, variant: resolution.variant, metadata };
}

/**
 * A flag in ResolveAll has the type of its default variant, whether it succeeded, failed or is disabled. A flag without one, or whose default
 * is a list or null, is left out, over schema.v1 only if it has no value of a type either: these protocols can't express "use the default in
 * the code".
 */
function anyFlagAnswer(
  dialect: Dialect,
  { flag, resolution }: ResolvedFlag,
  selection: Selection,
): AnyFlagAnswer | undefined {
  // In flagd, a flag without a default variant has the one that is named "", if there is one.
  const byDefault = flag.variants.get(flag.defaultVariant ?? "");
  const isTypedByValue = dialect.resolveAll === "without-metadata";
  const accessor = accessorOf(byDefault) ?? (isTypedByValue ? accessorOf(resolution.value) : undefined);
  if (accessor === undefined) return undefined;
  const outcome = outcomeOf(dialect, accessor, resolution, selection);
  if (typeof outcome !== "string") {
    const { value = zeroValue(accessor), reason, variant = "", metadata } = outcome;
    return { key: flag.key, accessor, value, reason, variant, metadata };
  }
  return {
    key: flag.key,
    accessor,
    value: zeroValue(accessor),
    reason: "ERROR",
    variant: resolution.variant ?? "",
    metadata: selection.metadataOf(resolution.metadata),
    error: outcome,
  };
}
