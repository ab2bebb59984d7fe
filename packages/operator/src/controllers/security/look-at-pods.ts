import { podNeeds, type AskingPod, type PodNeeds } from "@bunting/featureflags/resources";
import { keyOf, readPages, type KubeObject, type ResourceType, type RestClient } from "@bunting/kube";
import { podType } from "../../api/core-types.js";
import { injectionType, type Injection } from "../../api/injection.js";

/** Objects that ask the proxy in one way. */
export interface Askers {
  readonly count: number;
  /** `namespace/name` of the first of them. */
  readonly first: readonly string[];
}

/** How the Pods of the cluster ask the proxy, or Injections have new ones ask it. */
export interface PodSight {
  readonly plain: Askers;
  readonly secured: Askers;
}

/** Objects of a page: whole Pods have some 10 KB each, and none is kept. */
const pageSize = 250;
/** Objects that sentences for people name. */
export const maxNamed = 5;

/** Where to look. */
export interface LookedAt {
  readonly client: Pick<RestClient, "readPage">;
  /** The namespaces that the operator serves: others can't be read; undefined: all. */
  readonly served?: readonly string[] | undefined;
  /** Namespaces that are passed over. */
  readonly except: ReadonlySet<string>;
}

/**
 * Reads all Pods of the cluster, page by page, as they were at one time; those of single namespaces one namespace after the other.
 *
 * @throws KubeError
 */
export function lookAtPods(cluster: LookedAt, signal: AbortSignal): Promise<PodSight> {
  return lookAt(cluster, podType, (pod) => podNeeds(pod as KubeObject & AskingPod), signal);
}

/**
 * Likewise for Injections: what the policy gives to Pods that are created now. Applications that evaluate in process are as they are whatever is
 * written there, so their Pods alone count.
 *
 * @throws KubeError
 */
export function lookAtInjections(cluster: LookedAt, signal: AbortSignal): Promise<PodSight> {
  const needsOf = (object: KubeObject): PodNeeds => {
    const { spec } = object as KubeObject & Partial<Injection>;
    const all = Object.values(spec?.sources ?? {}).map(({ container, volumes }) =>
      podNeeds({ spec: { containers: container === undefined ? [] : [container], volumes } }),
    );
    return { isPlain: all.some(({ isPlain }) => isPlain), isSecured: all.some(({ isSecured }) => isSecured) };
  };
  return lookAt(cluster, injectionType, needsOf, signal);
}

async function lookAt(
  { client, served, except }: LookedAt,
  type: ResourceType,
  needsOf: (object: KubeObject) => PodNeeds,
  signal: AbortSignal,
): Promise<PodSight> {
  const plain = new AskerCount();
  const secured = new AskerCount();
  const onObject = (object: KubeObject): void => {
    if (except.has(object.metadata.namespace ?? "")) return;
    const { isPlain, isSecured } = needsOf(object);
    if (isPlain) plain.add(keyOf(object));
    if (isSecured) secured.add(keyOf(object));
  };
  const scopes = served === undefined ? [{ type }] : served.map((namespace) => ({ type, namespace }));
  for (const scope of scopes) await readPages(client, scope, { limit: pageSize }, onObject, signal);
  return { plain, secured };
}

class AskerCount implements Askers {
  count = 0;
  readonly first: string[] = [];

  add(key: string): void {
    this.count++;
    if (this.first.length < maxNamed) this.first.push(key);
  }
}
