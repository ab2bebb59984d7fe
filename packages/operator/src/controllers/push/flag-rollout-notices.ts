import type { EventRecorder, KubeObject } from "@bunting/kube";
import { openFeatureApiVersion, type FlagRolloutPhase } from "@bunting/featureflags/resources";
import type { FlagRolloutMetrics } from "./flag-rollout-metrics.js";

/** Tells people, beside the status of a FeatureFlag, how its rollout goes: by events, and by a gauge that an alert watches. */
export class FlagRolloutNotices {
  readonly #events: Pick<EventRecorder, "record">;
  readonly #metrics: FlagRolloutMetrics;
  readonly #halted = new Set<string>();

  constructor(events: Pick<EventRecorder, "record">, metrics: FlagRolloutMetrics) {
    this.#events = events;
    this.#metrics = metrics;
  }

  /** What the rollout of a FeatureFlag is now; undefined if it has none. */
  is(key: string, phase: FlagRolloutPhase | undefined): void {
    const isHalted = phase === "Halted";
    if (isHalted === this.#halted.has(key)) return;
    if (isHalted) this.#halted.add(key);
    else this.#halted.delete(key);
    this.#metrics.flagRolloutHalted(key, isHalted ? 1 : 0);
  }

  /** The status says that it has entered a phase, or another wave. */
  entered(
    { metadata: { namespace, name, uid } }: KubeObject,
    {
      phase,
      before,
      note,
    }: {
      readonly phase: FlagRolloutPhase;
      readonly before?: FlagRolloutPhase | undefined;
      readonly note: string;
    },
  ): void {
    this.#metrics.flagRolloutEntered(phase);
    // Of the first version nobody has to know, and of each wave the condition says enough.
    if (before === undefined || before === phase) return;
    this.#events.record({
      regarding: {
        ...{ apiVersion: openFeatureApiVersion, kind: "FeatureFlag", name },
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
      },
      type: phase === "Halted" ? "Warning" : "Normal",
      reason: phase,
      action: "RollOut",
      note,
    });
  }

  /** Somebody else leads from now on, and says it. */
  clear(): void {
    for (const key of [...this.#halted]) this.is(key, undefined);
  }
}
