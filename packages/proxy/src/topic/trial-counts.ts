import type { Snapshot } from "../snapshot/snapshot.js";
import type { EncodedContent } from "../snapshot/snapshot-bytes.js";
import type { TrialCounts } from "@bunting/protocol";
import type { Subscription } from "./subscription.js";
import type { FlagRejection, TopicAcks } from "./topic-acks.js";
import type { TopicTrial } from "./topic-trial.js";
import { buckets } from "./trial-bucket.js";

export interface CountedTopic {
  readonly trial: TopicTrial | undefined;
  readonly newest: Pick<Snapshot, "digest" | "bytes"> | undefined;
  readonly acks: TopicAcks;
  readonly subscriptions: Iterable<Subscription>;
}

/** Undefined while all agents of the topic are to have the same version. */
export function trialCounts(topic: CountedTopic): TrialCounts | undefined {
  const { trial } = topic;
  if (trial === undefined) return undefined;
  let agents = 0;
  let wave = 0;
  let lowest = buckets;
  /** What proxies that this one feeds say; undefined for one that has said nothing yet. */
  const below: (TrialCounts | undefined)[] = [];
  // Some may not have been moved yet.
  for (const subscriptions of [topic.subscriptions, trial.subscriptions]) {
    for (const { subscriber } of subscriptions) {
      if (subscriber.trials !== undefined) below.push(subscriber.trials.report);
      const { bucket } = subscriber;
      if (bucket === undefined) continue;
      agents++;
      lowest = Math.min(lowest, bucket);
      if (trial.takes(subscriber)) wave++;
    }
  }
  const refused = newRefusals(topic, trial);
  const [first] = refused;
  const own: TrialCounts = {
    ...{ digest: trial.digest, reach: trial.reach, agents, wave },
    ...(agents === 0 ? {} : { lowest }),
    current: trial.acks.held.get(trial.digest) ?? 0,
    refusals: refused.reduce((sum, { subscribers }) => sum + subscribers, 0),
    ...(first === undefined
      ? {}
      : { reason: first.flag === undefined ? first.reason : `${first.flag}: ${first.reason}` }),
  };
  return below.reduce<TrialCounts>((sum, each) => withReport(sum, each, trial), own);
}

function withReport(
  sum: TrialCounts,
  report: TrialCounts | undefined,
  { digest, reach }: Pick<TopicTrial, "digest" | "reach">,
): TrialCounts {
  if (report?.digest !== digest) return { ...sum, reach: -1 };
  const lowest = Math.min(sum.lowest ?? buckets, report.lowest ?? buckets);
  const reason = sum.reason ?? report.reason;
  return {
    digest,
    reach: report.reach === reach ? sum.reach : -1,
    agents: sum.agents + report.agents,
    ...(lowest < buckets ? { lowest } : {}),
    wave: sum.wave + report.wave,
    current: sum.current + report.current,
    refusals: sum.refusals + report.refusals,
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * A flag that is in both versions alike says nothing against the new one, whoever refuses it: an agent that has begun with the new one would refuse it in
 * the version before too. Nor does one that the agent has refused there, nor, of an agent of which that is not known, one that all others refuse there.
 * Fewer than all do not suffice: some may only pretend to be agents, so that nobody hears of a refusal.
 */
function newRefusals(
  { newest, acks: all }: CountedTopic,
  { digest, acks, snapshot }: TopicTrial,
): readonly FlagRejection[] {
  const before = new Set<string>();
  const others = all.held.get(newest?.digest ?? "") ?? 0;
  for (const { flag, digest: refused, subscribers } of all.rejections)
    if (flag !== undefined && refused === newest?.digest && subscribers > 0 && subscribers >= others)
      before.add(flag);
  const isNew = (flag: string): boolean =>
    !before.has(flag) && (newest === undefined || !isAlike(flag, newest.bytes, snapshot.bytes));
  return [...acks.rejections, ...acks.unlisted].filter(
    ({ digest: refused, subscribers, flag, isOld }) =>
      refused === digest && subscribers > 0 && isOld !== true && (flag === undefined || isNew(flag)),
  );
}

/** Flags have parts of their set, so an edit of that is one of all of them. */
function isAlike(flag: string, one: EncodedContent, other: EncodedContent): boolean {
  if (one.metadata !== other.metadata || one.evaluators !== other.evaluators) return false;
  return one.flags.get(flag)?.hash === other.flags.get(flag)?.hash;
}
