import type { BackplaneError, LeaseKeeper } from "@bunting/backplane";
import { cut, singleLine } from "@bunting/runtime";
import type { BackplaneReport, OwnedUnit } from "./backplane-metrics.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import type { OwnershipUnit } from "./ownership-unit.js";

/** Counts of topics by how this replica reads them. */
export function countTopics(
  topics: Iterable<ReplicatedTopic>,
  usesRedis: boolean,
): Pick<BackplaneReport, "followed" | "direct" | "forOthers"> {
  const counts = { followed: 0, direct: 0, forOthers: 0 };
  for (const { hasSubscribers, isDirect, isWatched, ownershipUnit: unit } of topics) {
    if (!hasSubscribers) counts.forOthers += isWatched ? 1 : 0;
    else {
      counts.followed += unit.lease === undefined ? 1 : 0;
      counts.direct += isDirect || !usesRedis ? 1 : 0;
    }
  }
  return counts;
}

/** The units that this replica has leases of. */
export function ownedUnits(
  units: Iterable<OwnershipUnit>,
  keeper: Pick<LeaseKeeper, "held">,
  { leaseMs, nowMs }: { readonly leaseMs: number; readonly nowMs: number },
): OwnedUnit[] {
  const owned: OwnedUnit[] = [];
  for (const { name, isOwned } of units) {
    const lease = keeper.held(name);
    if (!isOwned || lease === undefined) continue;
    owned.push({ unit: name, fence: lease.fence, renewedAgoMs: leaseMs - (lease.untilMs - nowMs) });
  }
  return owned;
}

/** Names of units with subscribers here but without a lease. */
export function otherUnits(units: Iterable<OwnershipUnit>): string[] {
  return [...units]
    .filter(({ isOwned, hasSubscribers }) => !isOwned && hasSubscribers)
    .map(({ name }) => name);
}

/** Why edits are late although Redis works otherwise: announcements have a connection of their own. */
export function lateReasonOf(
  failure: BackplaneError | undefined,
  compareMs: number,
): Pick<BackplaneReport, "reason"> {
  if (failure === undefined) return {};
  const late = `announcements can't be read, so edits of others come up to ${Math.round(compareMs / 1_000)} s late`;
  return { reason: singleLine(cut(`${late}: ${failure.message}`)) };
}

/** Why Redis can't be used, in one line and cut: a part of the text may come from Redis. */
export function reasonOf(reason: BackplaneError | undefined): Pick<BackplaneReport, "reason"> {
  return reason === undefined ? {} : { reason: singleLine(cut(reason.message)) };
}
