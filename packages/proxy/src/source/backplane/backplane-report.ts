import type { BackplaneError, Lease } from "@bunting/backplane";
import { cut, singleLine } from "@bunting/runtime";
import type { BackplaneReport, OwnLease } from "./backplane-metrics.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

/** Counts of topics by how this replica reads them. Without Redis, none is followed. */
export function countTopics(
  topics: Iterable<Pick<ReplicatedTopic, "hasSubscribers" | "isDirect" | "isWatched" | "isRemote">>,
  { usesRedis, isOwner }: { readonly usesRedis: boolean; readonly isOwner: boolean },
): Pick<BackplaneReport, "followed" | "direct" | "forOthers"> {
  const counts = { followed: 0, direct: 0, forOthers: 0 };
  for (const { hasSubscribers, isDirect, isWatched, isRemote } of topics) {
    // A remote that has never answered has no record that an owner could confirm; remotes have counts of their own.
    if (isRemote) continue;
    if (!hasSubscribers) counts.forOthers += isWatched ? 1 : 0;
    else {
      counts.followed += isOwner || !usesRedis ? 0 : 1;
      counts.direct += isDirect || !usesRedis ? 1 : 0;
    }
  }
  return counts;
}

/** The lease, if this replica has it and its time is not over. */
export function ownLease(
  lease: Lease | undefined,
  { leaseMs, nowMs }: { readonly leaseMs: number; readonly nowMs: number },
): { readonly lease?: OwnLease } {
  if (lease === undefined) return {};
  return { lease: { fence: lease.fence, renewedAgoMs: leaseMs - (lease.untilMs - nowMs) } };
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
