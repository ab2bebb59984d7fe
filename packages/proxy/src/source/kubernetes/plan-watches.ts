import type { TopicKey } from "@bunting/protocol";
import { clusterKey, namespaceKey, type WatchKey } from "./watch-key.js";

/** Which kinds of watches the operator of the proxy wants; `auto` leaves the choice to the proxy. */
export type WatchScope = "auto" | "object" | "namespace" | "cluster";

/** A FeatureFlag that is subscribed to. */
export interface PlannedFlag {
  readonly topic: TopicKey;
  readonly namespace: string;
  readonly existence: "unknown" | "exists" | "absent";
}

export interface PlanInput {
  readonly watchScope: WatchScope;
  /** All that are subscribed to, in the order of their subscriptions. */
  readonly flags: readonly PlannedFlag[];
  /** The last plan: a wider watch is given up later than it was planned, so that a topic that comes and goes does not flap. */
  readonly current: ReadonlySet<WatchKey>;
  /** Whether RBAC lets us list and watch a whole namespace, or (without one) the cluster. Asked only where it would be used. */
  readonly isAllowed: (namespace?: string) => boolean;
  /** Other limits than the usual ones; for tests that can't have thousands of FeatureFlags. */
  readonly limits?: Partial<PlanLimits> | undefined;
}

export interface PlanLimits {
  /** From this many FeatureFlags on, a namespace is watched as a whole … */
  readonly namespaceFrom: number;
  /** … until there are no more than this many. */
  readonly namespaceDownTo: number;
  /** With more namespace watches than this, or more watches in all than `maxWatches`, the cluster is watched as a whole. */
  readonly maxNamespaceWatches: number;
  readonly maxWatches: number;
  /** Object watches on FeatureFlags that exist: each costs the API server about 0.1 MB of memory. */
  readonly maxExisting: number;
  /** Watches on FeatureFlags, or in namespaces, that do not exist: guessed names get no more than these. */
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
/** The cluster watch is given up when at most this part of either maximum would do. */
const clusterDownTo = 0.5;

/**
 * Decides which watches are wanted. Each FeatureFlag is under exactly one of them, or, where more are subscribed to than may be watched
 * one by one, under none: the first subscribed come first. Only FeatureFlags that exist lead to wider watches: guessed names must not.
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
  // Those of which it is not known yet whether they exist have as many watches of their own: guessed names that are known not to exist must
  // not keep a new FeatureFlag from being read, and guessed names that can't be read, because the API server is away, must not all be watched.
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

/** A namespace is as its FeatureFlag with the highest rank. */
const rank = { absent: 0, unknown: 1, exists: 2 };
