import type { EventRecorder, RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import {
  agentRolloutApiVersion,
  agentRolloutType,
  type AgentRollout,
  type AgentRolloutStatus,
} from "../../api/agent-rollout.js";
import type { RolloutProgress } from "../../upgrade/fleet.js";
import type { RolloutVerdict } from "../../upgrade/plan.js";
import { StatusWriter } from "../status-writer.js";
import { rolloutMessage, progressOf, rolloutStatusOf } from "./rollout-status.js";

const fieldManager = "bunting-operator-agent-rollout";
/** Counts of Pods are written that often; everything else at once. */
const pauseMs = 5_000;
const rate = { burst: 20, perSecond: 5 };

interface Written {
  readonly status: AgentRolloutStatus;
  readonly atMs: number;
}

/** Writes the status of AgentRollouts, and knows what it has written before the watch tells of it. */
export class RolloutStatuses {
  readonly #writer: StatusWriter;
  readonly #events: Pick<EventRecorder, "record">;
  readonly #context: Pick<Context, "clock">;
  /** By uid. */
  readonly #written = new Map<string, Written>();

  constructor(
    client: Pick<RestClient, "apply">,
    events: Pick<EventRecorder, "record">,
    context: Pick<Context, "clock" | "logger">,
  ) {
    this.#writer = new StatusWriter({ client, fieldManager, rate, context });
    this.#events = events;
    this.#context = context;
  }

  /** Another leader may have written meanwhile. */
  clear(): void {
    this.#written.clear();
  }

  /** Forgets all rollouts but these. */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#written.keys()) if (!uids.has(uid)) this.#written.delete(uid);
  }

  progress(rollout: AgentRollout): RolloutProgress | undefined {
    return progressOf(this.#last(rollout));
  }

  /**
   * Writes what was found, if that is news.
   *
   * @returns after how long it must be called again, in ms; Infinity if all is written
   * @throws KubeError
   */
  async write(rollout: AgentRollout, verdict: RolloutVerdict, signal: AbortSignal): Promise<number> {
    const { clock } = this.#context;
    const { name, uid = "" } = rollout.metadata;
    const last = this.#last(rollout);
    const status = rolloutStatusOf(verdict, rollout, last, clock.now());
    if (JSON.stringify(status) === JSON.stringify(last)) return Infinity;
    const leftMs = (this.#written.get(uid)?.atMs ?? -Infinity) + pauseMs - clock.monotonicMs();
    if (leftMs > 0 && decisive(status) === decisive(last)) return leftMs;
    const target = { type: agentRolloutType, kind: "AgentRollout", metadata: { name, uid } };
    const fields = status as Readonly<Record<string, unknown>>;
    await this.#writer.write(target, fields, signal);
    this.#written.set(uid, { status, atMs: clock.monotonicMs() });
    if (status.phase !== last.phase) this.#tell(rollout, verdict);
    return Infinity;
  }

  #last({ metadata: { uid = "" }, status = {} }: AgentRollout): AgentRolloutStatus {
    return this.#written.get(uid)?.status ?? status;
  }

  #tell({ metadata: { name, uid = "" } }: AgentRollout, verdict: RolloutVerdict): void {
    const { phase } = verdict;
    this.#events.record({
      regarding: { apiVersion: agentRolloutApiVersion, kind: "AgentRollout", name, uid },
      type: phase === "Halted" || phase === "Refused" ? "Warning" : "Normal",
      reason: phase,
      action: "Upgrade",
      note: rolloutMessage(verdict),
    });
  }
}

/** What others, and a restarted operator, have to know at once. */
function decisive({
  observedGeneration,
  image,
  since,
  phase,
  failures,
  haltedReason,
}: AgentRolloutStatus): string {
  return JSON.stringify([observedGeneration, image, since, phase, failures, haltedReason]);
}
