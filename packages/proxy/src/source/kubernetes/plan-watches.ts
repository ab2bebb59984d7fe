/** Which watches are wanted beyond those of single objects. */
export interface WatchPlan {
  readonly cluster: boolean;
  readonly namespaces: ReadonlySet<string>;
}

export type WatchScope = "auto" | "object" | "namespace" | "cluster";

/** How many FeatureFlags a namespace has that are subscribed to: those that exist, and all. */
export interface NamespaceCensus {
  readonly existing: number;
  readonly referenced: number;
}

export interface PlanInput {
  readonly watchScope: WatchScope;
  readonly census: ReadonlyMap<string, NamespaceCensus>;
  /** What is planned now: what is wide narrows later than it widened, so that a topic that comes and goes does not flap. */
  readonly current: WatchPlan;
  /** Whether RBAC lets us list and watch a whole namespace, or (without one) the cluster. Asked only where it would be used. */
  readonly isAllowed: (namespace?: string) => boolean;
  /** Other limits than the usual ones; for tests that can't have thousands of FeatureFlags. */
  readonly limits?: PlanLimits | undefined;
}

export interface PlanLimits {
  /** From so many FeatureFlags on a namespace is watched as a whole … */
  readonly namespaceFrom: number;
  /** … until there are no more than these. */
  readonly namespaceDownTo: number;
  /** With more watches than these of either kind, the cluster is watched as a whole. */
  readonly maxNamespaceWatches: number;
  readonly maxWatches: number;
}

const usualLimits: PlanLimits = {
  namespaceFrom: 32,
  namespaceDownTo: 16,
  maxNamespaceWatches: 200,
  maxWatches: 2_000,
};
/** The cluster watch goes when there would be no more than this part of either maximum. */
const clusterDownTo = 0.5;

/**
 * Decides which namespaces, or whether the cluster, are better watched as a whole. Only FeatureFlags that exist count: names that
 * somebody guessed must not move the proxy to wider watches.
 */
export function planWatches(input: PlanInput): WatchPlan {
  const { watchScope, census } = input;
  switch (watchScope) {
    case "object":
      return nothingWide;
    case "cluster":
      return { cluster: true, namespaces: new Set() };
    case "namespace": {
      const referenced = [...census].filter(([, { referenced: count }]) => count > 0);
      return { cluster: false, namespaces: new Set(referenced.map(([namespace]) => namespace)) };
    }
    case "auto":
      return planAuto(input);
  }
}

function planAuto({ census, current, isAllowed, limits = usualLimits }: PlanInput): WatchPlan {
  const { namespaceFrom, namespaceDownTo, maxNamespaceWatches, maxWatches } = limits;
  const namespaces = new Set<string>();
  let objects = 0;
  for (const [namespace, { existing }] of census) {
    const isWide = current.namespaces.has(namespace);
    const isWanted = existing >= namespaceFrom || (isWide && existing > namespaceDownTo);
    if (isWanted && isAllowed(namespace)) namespaces.add(namespace);
    else objects += existing;
  }
  const factor = current.cluster ? clusterDownTo : 1;
  const isMany =
    namespaces.size > maxNamespaceWatches * factor || objects + namespaces.size > maxWatches * factor;
  if (isMany && isAllowed()) return { cluster: true, namespaces: new Set() };
  return { cluster: false, namespaces };
}

export const nothingWide: WatchPlan = { cluster: false, namespaces: new Set() };
