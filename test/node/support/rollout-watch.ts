import { setTimeout as delay } from "node:timers/promises";
import { isInFlight, parseRecord } from "@bunting/operator/internal/upgrade/agent-record.js";
import type { Node } from "./node.js";
import type { PodStatus } from "./workload.js";

/** A Pod with a sidecar that may get another image. */
export interface UpgradedPod {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly initContainers: readonly [{ readonly image: string }] };
  readonly status: PodStatus;
}

/** Counts all the time how many Pods of a namespace are under way, in all and of each workload. */
export class RolloutWatch {
  readonly #node: Node;
  readonly #namespace: string;
  readonly #ending = new AbortController();
  readonly #looking: Promise<void>;
  #mostOfWorkload = new Map<string, number>();
  #mostInAll = 0;

  constructor(node: Node, namespace: string) {
    this.#node = node;
    this.#namespace = namespace;
    this.#looking = this.#look(this.#ending.signal);
  }

  async pods(): Promise<readonly UpgradedPod[]> {
    const { items } = await this.#node.cluster.api.list(`/api/v1/namespaces/${this.#namespace}/pods`);
    return items as unknown as readonly UpgradedPod[];
  }

  recordOf({ metadata: { annotations = {} } }: UpgradedPod): ReturnType<typeof parseRecord> {
    return parseRecord(annotations["bunting.dev/agent-rollout"]);
  }

  /** The most that there were since the last call. */
  take(): { readonly mostOfWorkload: ReadonlyMap<string, number>; readonly mostInAll: number } {
    const taken = { mostOfWorkload: this.#mostOfWorkload, mostInAll: this.#mostInAll };
    this.#mostOfWorkload = new Map();
    this.#mostInAll = 0;
    return taken;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#looking;
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The namespace may be gone by now.
      const pods = await this.pods().catch(() => []);
      const underWay = pods.filter((pod) => isInFlight(this.recordOf(pod)));
      const counts = new Map<string, number>();
      for (const { metadata } of underWay) {
        const app = metadata.labels["app"] ?? "";
        counts.set(app, (counts.get(app) ?? 0) + 1);
      }
      for (const [app, count] of counts)
        this.#mostOfWorkload.set(app, Math.max(count, this.#mostOfWorkload.get(app) ?? 0));
      this.#mostInAll = Math.max(this.#mostInAll, underWay.length);
      await delay(50);
    }
  }
}
