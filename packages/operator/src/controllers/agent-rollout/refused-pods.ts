import type { KubeError } from "@bunting/kube";
import { cut, singleLine, type Clock } from "@bunting/runtime";
import type { FleetPod } from "../../upgrade/fleet.js";

/** For so long a Pod is left alone that an API server did not change. */
const heldMs = 30_000;
/** Those who refuse write the reason: a status and events repeat it. */
const maxWhyCharacters = 400;

interface Held {
  /** The image of the sidecar then: with another one, it is no longer the same change. */
  readonly image: string | undefined;
  /** The version then, where another one ends the wait. */
  readonly resourceVersion?: string;
  readonly untilMs: number;
  /** Absent if somebody else was just faster. */
  readonly refusal?: string;
}

/**
 * The Pods that an API server did not change as it was asked to. Either somebody else has changed the Pod, and the watch will tell; or a policy, a
 * webhook or RBAC refuses the change, which people have to know. It is kept in memory only: another leader is refused again.
 */
export class RefusedPods {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By uid of the Pod. */
  readonly #held = new Map<string, Held>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  clear(): void {
    this.#held.clear();
  }

  /** @returns why the change is refused; undefined if somebody else has changed the Pod meanwhile */
  note({ uid, resourceVersion, agent }: FleetPod, { code, message }: KubeError): string | undefined {
    const held = { image: agent?.image, untilMs: this.#clock.monotonicMs() + heldMs };
    if (code === "CONFLICT" || code === "NOT_FOUND") {
      this.#held.set(uid, { ...held, resourceVersion });
      return undefined;
    }
    const refusal = cut(singleLine(message), maxWhyCharacters);
    this.#held.set(uid, { ...held, refusal });
    return refusal;
  }

  /** A change was made to the Pod. */
  changed({ uid }: FleetPod): void {
    this.#held.delete(uid);
  }

  /** The Pods as they are now, each with what is known here, and nothing is kept of others. */
  mark(pods: readonly FleetPod[]): readonly FleetPod[] {
    if (this.#held.size === 0) return pods;
    const left = new Set(this.#held.keys());
    const marked = pods.map((pod) => {
      left.delete(pod.uid);
      return this.#mark(pod);
    });
    for (const uid of left) this.#held.delete(uid);
    return marked;
  }

  /** After how long the next of them may be changed, in ms; Infinity if there is none. */
  get leftMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const waits = Array.from(this.#held.values(), ({ untilMs }) => untilMs - nowMs);
    return Math.min(Infinity, ...waits.filter((ms) => ms > 0));
  }

  #mark(pod: FleetPod): FleetPod {
    const held = this.#held.get(pod.uid);
    if (held === undefined) return pod;
    const { image, resourceVersion = pod.resourceVersion, untilMs, refusal } = held;
    const isOver = this.#clock.monotonicMs() >= untilMs;
    const isOther = image !== pod.agent?.image || resourceVersion !== pod.resourceVersion;
    if (isOther || (isOver && refusal === undefined)) {
      this.#held.delete(pod.uid);
      return pod;
    }
    return { ...pod, isHeld: !isOver, ...(refusal === undefined ? {} : { refusal }) };
  }
}
