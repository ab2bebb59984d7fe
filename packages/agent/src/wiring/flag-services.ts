import type { Evaluator } from "@bunting/evaluation";
import type { ContextEnrichment } from "../api/context.js";
import { createEvaluationService, type EvaluationService } from "../api/evaluation-service.js";
import type { CurrentFlags, UnreadSources } from "../api/backend.js";
import { evaluationV1, evaluationV2, schemaV1 } from "../api/dialects.js";
import type { EventStreams } from "../api/events/event-stream.js";
import { createSelections, type Selections } from "../api/selection.js";
import type { SseStreams } from "../api/sse/sse-streams.js";
import type { SyncService } from "../api/sync/sync-service.js";
import type { FlagStore } from "../store/flag-store.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { AgentWiring } from "./agent-wiring.js";

/** What answers applications, before any protocol. */
export interface FlagServices {
  readonly evaluator: Evaluator;
  readonly telemetry: Telemetry;
  readonly selections: Selections;
  readonly context: ContextEnrichment;
  /** One for each dialect of the evaluation protocol. */
  readonly evaluation: readonly EvaluationService[];
  readonly unread: UnreadSources;
  readonly events: EventStreams;
  /** Undefined without --ofrep-sse-enabled. */
  readonly sse: SseStreams | undefined;
  readonly sync: SyncService;
}

export interface FlagServicesParts {
  readonly store: CurrentFlags & Pick<FlagStore, "onChange">;
  readonly evaluator: Evaluator;
  readonly unread: UnreadSources;
  readonly telemetry: Telemetry;
}

/** The services over the store, which follow its changes. */
export function servicesOf(
  wiring: AgentWiring,
  { store, evaluator, unread, telemetry }: FlagServicesParts,
): FlagServices {
  const { options, parts } = wiring;
  const { clock, metrics } = wiring.context;
  const selections = createSelections();
  const {
    contextValue: contextValues,
    contextFromHeader,
    streamDeadline: streamDeadlineMs,
    recentChanges: recentMs,
  } = options;
  const context = parts.createContextEnrichment({ contextValues, contextFromHeader });
  const evaluation = [evaluationV2, evaluationV1, schemaV1].map((dialect) =>
    telemetry.evaluations(
      createEvaluationService(dialect, { evaluator, unread, selections, context, metrics }),
    ),
  );
  const events = new parts.EventStreams({ flags: store, selections, clock, streamDeadlineMs, recentMs });
  const sse = options.ofrepSseEnabled
    ? new parts.SseStreams({ clock, streamDeadlineMs, recentMs })
    : undefined;
  const sync = new parts.SyncService({
    flags: { reader: store, unread, selections },
    metrics,
    clock,
    metadata: { contextValues, isDisabled: options.disableSyncMetadata },
    streamDeadlineMs,
  });
  store.onChange(({ changes, upserted, removed }) => {
    evaluator.apply({ upserted, removed });
    if (changes.length === 0) return;
    events.publish(changes);
    sse?.publish(changes);
    sync.publish(changes);
  });
  return { evaluator, unread, telemetry, selections, context, evaluation, events, sse, sync };
}
