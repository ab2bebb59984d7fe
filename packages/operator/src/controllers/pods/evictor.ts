import { KubeError, type KubeObject, type RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import type { MissedPodsMetrics } from "./missed-pods-metrics.js";
import { podType } from "../../api/core-types.js";

/** Pods of one workload are evicted this far from each other. */
const pauseMs = 30_000;
/** For so long an eviction in vain is remembered: what is wrong with admission may have been mended then. */
const vainMs = 3_600_000;
/** Until the API server is asked again, where a budget holds an eviction back. */
const heldBackMs = 30_000;

export type EvictionOutcome =
  | { readonly kind: "evicted" }
  /** It may be tried again. */
  | { readonly kind: "later"; readonly afterMs: number }
  /** Pods of the workload were made since its last eviction, and this is one of them. */
  | { readonly kind: "in-vain" };

/** A Pod to be evicted. */
export interface EvictedPod {
  readonly pod: KubeObject;
  /** The key of its workload. */
  readonly workload: string;
  /** When it was first seen, by the monotonic clock: clocks of API servers may differ from ours. */
  readonly seenMs: number;
}

/** Evicts Pods so that their workloads replace them: one of a workload in 30 s, as PodDisruptionBudgets allow. */
export class Evictor {
  readonly #client: Pick<RestClient, "create">;
  readonly #context: Context<MissedPodsMetrics>;
  /** The time of the last eviction of each workload, in ms. */
  readonly #last = new Map<string, number>();

  constructor(client: Pick<RestClient, "create">, context: Context<MissedPodsMetrics>) {
    this.#client = client;
    this.#context = context;
  }

  /**
   * Evicts the Pod if it is its workload's turn. A Pod that came after an eviction of its workload, and was missed again, is left alone: whatever
   * keeps it from being injected would do so for ever.
   *
   * @throws KubeError
   */
  async evict({ pod, workload, seenMs }: EvictedPod, signal: AbortSignal): Promise<EvictionOutcome> {
    const { clock, metrics } = this.#context;
    this.#forgetOld();
    const last = this.#last.get(workload);
    if (last !== undefined) {
      if (seenMs > last) return { kind: "in-vain" };
      const waitMs = last + pauseMs - clock.monotonicMs();
      if (waitMs > 0) return { kind: "later", afterMs: waitMs };
    }
    const { namespace = "", name, uid } = pod.metadata;
    const eviction = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { namespace, name },
      deleteOptions: { preconditions: { uid } },
    };
    this.#last.set(workload, clock.monotonicMs());
    try {
      const scope = { type: podType, namespace, name };
      await this.#client.create(scope, eviction, signal, { subresource: "eviction" });
    } catch (error) {
      if (last === undefined) this.#last.delete(workload);
      else this.#last.set(workload, last);
      const isHeldBack = error instanceof KubeError && error.code === "THROTTLED";
      metrics.evicted(isHeldBack ? "held-back" : "failed");
      if (!isHeldBack) throw error;
      return { kind: "later", afterMs: Math.max(heldBackMs, error.retryAfterMs ?? 0) };
    }
    metrics.evicted("evicted");
    return { kind: "evicted" };
  }

  #forgetOld(): void {
    const nowMs = this.#context.clock.monotonicMs();
    for (const [workload, atMs] of this.#last) {
      if (nowMs - atMs >= vainMs) this.#last.delete(workload);
    }
  }
}
