import type { TopicKey } from "@bunting/protocol";
import { clusterKey, namespaceKey, type WatchKey } from "./watch-key.js";

/** Kinds of watches that the user wants; `auto` leaves the choice to the proxy. */
export type WatchScope = "auto" | "object" | "namespace" | "cluster";

/** A subscribed FeatureFlag. */
export interface PlannedFlag {
  readonly topic: TopicKey;
  readonly namespace: string;
  readonly existence: "unknown" | "exists" | "absent";
}

/** What the user wants of plans. */
export interface Planning {
  readonly watchScope: WatchScope;
  /** Smaller limits, for tests that can't have thousands of FeatureFlags. */
  readonly limits?: Partial<PlanLimits> | undefined;
}

export interface PlanInput extends Planning {
  /** All subscribed FeatureFlags, in the order of their subscriptions. */
  readonly flags: readonly PlannedFlag[];
  /** The last plan, for hysteresis: a topic that comes and goes must not open and close a wider watch. */
  readonly current: ReadonlySet<WatchKey>;
  /** True if RBAC lets us list and watch a namespace, or (without one) the cluster. Called only if such a watch would be used. */
  readonly isAllowed: (namespace?: string) => boolean;
}

export interface PlanLimits {
  /** From this many FeatureFlags on, a namespace is watched as a whole … */
  readonly namespaceFrom: number;
  /** … until there are no more than this many. */
  readonly namespaceDownTo: number;
  /** With more namespace watches than this, or more watches in all than `maxWatches`, the cluster is watched as a whole. */
  readonly maxNamespaceWatches: number;
  readonly maxWatches: number;
  /** Limit of object watches on existing FeatureFlags: each costs the API server about 0.1 MB of memory. */
  readonly maxExisting: number;
  /** Limit of watches on FeatureFlags or namespaces not known to exist: peers may guess names. */
  readonly maxAbsent: number;
}

export const usualLimits: PlanLimits = {
  namespaceFrom: 32,
  namespaceDownTo: 16,
  maxNamespaceWatches: 200,
  maxWatches: 2_000,
  maxExisting: 2_000,
  maxAbsent: 512,
};
/** The cluster watch is given up when at most this share of both maxima would be needed. */
const clusterDownTo = 0.5;

/**
 * Decides which watches are wanted. Each FeatureFlag is under exactly one of them; or under none, if there are more than may
 * be watched one by one: the first subscribed come first. Only existing FeatureFlags lead to wider watches, because peers
 * may guess names.
 */
export function planWatches(input: PlanInput): Set<WatchKey> {
  const { watchScope, flags } = input;
  const limits = { ...usualLimits, ...input.limits };
  switch (watchScope) {
    case "object":
      return new Set(withinLimits(flags, limits));
    case "namespace":
      return new Set(namespacesWithinLimits(flags, limits));
    case "cluster":
      return new Set([clusterKey]);
    case "auto":
      return planAuto(input, limits);
  }
}

function planAuto({ flags, current, isAllowed }: PlanInput, limits: PlanLimits): Set<WatchKey> {
  const { namespaceFrom, namespaceDownTo, maxNamespaceWatches, maxWatches } = limits;
  const namespaces = new Set<string>();
  let objects = 0;
  for (const [namespace, existing] of countExisting(flags)) {
    const isCurrent = current.has(namespaceKey(namespace));
    const isWanted = existing >= namespaceFrom || (isCurrent && existing > namespaceDownTo);
    if (isWanted && isAllowed(namespace)) namespaces.add(namespace);
    else objects += existing;
  }
  const factor = current.has(clusterKey) ? clusterDownTo : 1;
  const isMany =
    namespaces.size > maxNamespaceWatches * factor || objects + namespaces.size > maxWatches * factor;
  if (isMany && isAllowed()) return new Set([clusterKey]);
  const others = flags.filter(({ namespace }) => !namespaces.has(namespace));
  return new Set([...[...namespaces].map(namespaceKey), ...withinLimits(others, limits)]);
}

function countExisting(flags: readonly PlannedFlag[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace, existence } of flags) {
    if (existence === "exists") counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return counts;
}

function* withinLimits(flags: readonly PlannedFlag[], limits: PlanLimits): Iterable<WatchKey> {
  // FeatureFlags of unknown existence have a limit of their own. Absent ones must not keep a new FeatureFlag from being
  // read, and names that can't be read because the API server is away must not all be watched.
  const left = { unknown: limits.maxAbsent, exists: limits.maxExisting, absent: limits.maxAbsent };
  for (const { topic, existence } of flags) if (left[existence]-- > 0) yield topic;
}

function* namespacesWithinLimits(flags: readonly PlannedFlag[], limits: PlanLimits): Iterable<WatchKey> {
  const existences = new Map<string, PlannedFlag["existence"]>();
  for (const { namespace, existence } of flags) {
    const other = existences.get(namespace);
    if (other === undefined || rank[existence] > rank[other]) existences.set(namespace, existence);
  }
  const left = { unknown: limits.maxAbsent, exists: Infinity, absent: limits.maxAbsent };
  for (const [namespace, existence] of existences) if (left[existence]-- > 0) yield namespaceKey(namespace);
}

/** The rank of a namespace is the highest rank of its FeatureFlags. */
const rank = { absent: 0, unknown: 1, exists: 2 };
