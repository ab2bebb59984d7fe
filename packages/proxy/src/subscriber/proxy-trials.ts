import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import type { TrialCounts } from "../source/trial.js";
import type { Subscription } from "../topic/subscription.js";
import { TrialNotice } from "../topic/trial-notice.js";
import { trialReportOf } from "./trial-report.js";

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
