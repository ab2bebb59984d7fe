import type { buntingSyncV1, TopicKey, TrialCounts } from "@bunting/protocol";
import type { Subscription } from "../topic/subscription.js";
import { TrialNotice } from "../topic/trial-notice.js";

/** What another proxy is told of versions that its agents are to try, and what it says of them. */
export class ProxyTrials {
  readonly #topic: TopicKey;
  /** What was said last; `other` if the proxy has one from before. */
  #told: TrialNotice | "other" | undefined;
  #report: TrialCounts | undefined;

  constructor(topic: TopicKey) {
    this.#topic = topic;
  }

  /** What the proxy has said last of how a version fares with its agents. */
  get report(): TrialCounts | undefined {
    return this.#report;
  }

  /** The proxy has its agents try a version already: it is told which it is to be. */
  hasOther(): void {
    this.#told = "other";
  }

  /** The proxy says how a version fares with its agents. */
  take(report: buntingSyncV1.TrialReport): void {
    this.#report = trialReportOf(report);
  }

  /**
   * What its agents are to try, for a proxy that has nothing yet: it comes before the version that all are to have, or those that come back
   * with the newer one would be sent the other in between.
   */
  first(subscription: Subscription, heldDigest: string): TrialNotice | undefined {
    const isFirst = heldDigest === "" && this.#told === undefined;
    return isFirst && subscription.trialNotice !== undefined ? this.next(subscription) : undefined;
  }

  /** What its agents are to try, if that has changed; nothing before this proxy knows it itself. */
  next({ view, trialNotice: notice }: Subscription): TrialNotice | undefined {
    if (notice === this.#told || view.kind === "starting") return undefined;
    this.#told = notice;
    return notice ?? new TrialNotice(this.#topic);
  }
}

/**
 * What another proxy says of how a version fares with its agents. Agents beyond those that it has in the wave do not count: they would stand for
 * agents of others that do not have the version. Just after a wave was taken back, an honest proxy says that as well.
 */
function trialReportOf(report: buntingSyncV1.TrialReport): TrialCounts {
  const { digest, reach, agents, lowest, refusals, reason } = report;
  const wave = Math.min(report.wave, agents);
  const current = Math.min(report.current, wave);
  return {
    ...{ digest: digest.toString("hex"), reach, agents, wave, current, refusals },
    ...(lowest === undefined ? {} : { lowest }),
    ...(reason === "" ? {} : { reason }),
  };
}
