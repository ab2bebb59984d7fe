import { hasEnded, podNeeds, podRequest } from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import { proxiedFlags } from "../operator/explain/sidecar-flags.js";
import { namedAddressText } from "../operator/object-address.js";
import { podAnnotations } from "../operator/operator-names.js";
import {
  asShownPod,
  sidecarOf,
  sidecarState,
  type ShownContainer,
  type ShownPod,
} from "../operator/shown-pod.js";

/** Pods of one owner to which the same has happened. */
export interface PodGroup {
  readonly namespace: string;
  /** The first of them. */
  readonly pod: ShownPod;
  readonly count: number;
  /** Of its sidecar, if it has one of ours. */
  readonly state?: { readonly words: string; readonly isReady: boolean };
}

/** The first of the group, as findings name it, and how many more there are. */
export function placeOfGroup({ namespace, pod, count }: PodGroup): string {
  const more = count === 1 ? "" : ` and ${count - 1} more of its owner`;
  return `Pod ${namespace}/${pod.metadata?.name ?? ""}${more}`;
}

/** Pods whose sidecar runs, and is to have a FeatureFlag from a proxy. */
export interface SidecarsOfTopic {
  readonly count: number;
  /** Some of them. */
  readonly pods: readonly ShownPod[];
}

/** Limit of the Pods of a FeatureFlag that are kept, to be asked. */
const mostReadersKept = 50;

interface OwnedMeta {
  readonly ownerReferences?: readonly { readonly name: string }[];
  readonly deletionTimestamp?: string;
}

/** The Pods of a cluster that ask for flags: one of each group is kept, so that many replicas take the room of one. */
export class PodSurvey {
  readonly #without = new Map<string, PodGroup>();
  readonly #unwell = new Map<string, PodGroup>();
  readonly #images = new Map<string, number>();
  #asker: string | undefined;
  readonly #readers = new Map<string, SidecarsOfTopic>();
  readonly #plain = new Map<string, PodGroup>();
  readonly #secured = new Map<string, PodGroup>();
  readonly #namespace: string | undefined;
  readonly #isStock: boolean;
  #isAsking = false;

  /**
   * @param namespace of the proxies whose subscribers are counted; absent: of all proxies
   * @param isStock true where the open-feature-operator makes sidecars, which have no mark
   */
  constructor(namespace?: string, isStock = false) {
    this.#namespace = namespace;
    this.#isStock = isStock;
  }

  get isAsking(): boolean {
    return this.#isAsking;
  }

  /** Groups of Pods that ask for flags, and have neither a sidecar nor a mark of ours. */
  get without(): readonly PodGroup[] {
    return [...this.#without.values()];
  }

  /** Groups of Pods whose sidecar does not run. */
  get unwell(): readonly PodGroup[] {
    return [...this.#unwell.values()];
  }

  /** Images of our sidecars, and how many Pods have each. */
  get images(): ReadonlyMap<string, number> {
    return this.#images;
  }

  /** The first Pod whose flags come from the proxy, whether it has them or not: where there is no proxy, its sidecar is not ready. */
  get asker(): string | undefined {
    return this.#asker;
  }

  /** Sidecars that are ready, by `namespace/name` of a FeatureFlag. */
  get readers(): ReadonlyMap<string, SidecarsOfTopic> {
    return this.#readers;
  }

  /** Groups of Pods that ask the operator's proxy, by the way in which they do. */
  get askers(): { readonly plain: readonly PodGroup[]; readonly secured: readonly PodGroup[] } {
    return { plain: [...this.#plain.values()], secured: [...this.#secured.values()] };
  }

  add(object: KubeObject): void {
    const pod = asShownPod(object);
    const { annotations = {}, namespace = "", name } = object.metadata;
    if (pod === undefined || annotations[podAnnotations.enabled] !== "true" || isOver(object)) return;
    this.#isAsking = true;
    const owner = (object.metadata as OwnedMeta).ownerReferences?.[0]?.name ?? name;
    const group = (by: Map<string, PodGroup>, further: Pick<PodGroup, "state">, ...keys: string[]): void => {
      const key = [namespace, owner, ...keys].join(" ");
      const known = by.get(key);
      by.set(key, { ...(known ?? { namespace, pod, ...further }), count: (known?.count ?? 0) + 1 });
    };
    const { isPlain, isSecured } = podNeeds(pod);
    if (isPlain) group(this.#plain, {});
    if (isSecured) group(this.#secured, {});
    const sidecar = sidecarOf(pod);
    const asks =
      sidecar === undefined ? isPlain || isSecured : proxiedFlags(sidecar, this.#namespace).length > 0;
    if (asks) this.#asker ??= `Pod ${namespace}/${name}`;
    const isMarked = this.#isStock || annotations[podAnnotations.injected] !== undefined;
    const reason = annotations[podAnnotations.notInjected];
    const asked = podRequest(annotations);
    if (sidecar === undefined ? !(isMarked && asked?.list === "inProcess") : reason !== undefined)
      group(this.#without, {}, reason ?? "", asked?.text ?? "");
    else if (isMarked && sidecar !== undefined) {
      const image = sidecar.image ?? "";
      this.#images.set(image, (this.#images.get(image) ?? 0) + 1);
      const state = sidecarState(pod);
      if (state?.isReady === false) group(this.#unwell, { state }, state.words);
      if (state?.isReady === true) this.#addReader(pod, sidecar);
    }
  }

  #addReader(pod: ShownPod, sidecar: ShownContainer): void {
    for (const address of proxiedFlags(sidecar, this.#namespace)) {
      const topic = namedAddressText(address);
      const { count, pods } = this.#readers.get(topic) ?? { count: 0, pods: [] };
      this.#readers.set(topic, {
        count: count + 1,
        pods: pods.length < mostReadersKept ? [...pods, pod] : pods,
      });
    }
  }
}

/** The Pod has ended, or is about to. */
function isOver({ metadata, ...object }: KubeObject): boolean {
  return hasEnded(object["status"] ?? {}) || (metadata as OwnedMeta).deletionTimestamp !== undefined;
}
