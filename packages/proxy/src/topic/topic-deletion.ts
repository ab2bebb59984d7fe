import { emptyFlagDocument, type TopicKey } from "@bunting/protocol";
import { ProxyError } from "../proxy-error.js";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { SourceVersion } from "../source/flag-source.js";
import type { Subscriber } from "./subscription.js";
import type { DeletionPolicy } from "./tombstone.js";
import type { TopicOptions } from "./topic-options.js";
import { standing, type StandingState, type TopicState } from "./topic-state.js";

/** The topic that a deletion changes. */
export interface DeletedTopic {
  readonly key: TopicKey;
  readonly state: TopicState;
  readonly newest: Snapshot | undefined;
  become(state: TopicState): void;
  nextSnapshot(bytes: Snapshot["bytes"], version: SourceVersion): Snapshot;
  refuse(error: ProxyError, isSpared: (subscriber: Subscriber) => boolean): void;
}

/**
 * What a topic goes through when its document is deleted: the grace, in which the document is served as it was, then the policy. The
 * deletion has settled when the policy is applied; a document that comes before that ends the grace, and nothing was deleted.
 */
export class TopicDeletion {
  /** That which the source has applied itself, or that of the options. Nobody else sets it. */
  policy: DeletionPolicy;
  readonly #options: TopicOptions;
  readonly #topic: DeletedTopic;
  #cancelGrace: (() => void) | undefined;

  constructor(options: TopicOptions, topic: DeletedTopic) {
    this.#options = options;
    this.#topic = topic;
    this.policy = options.deletionPolicy;
  }

  get isInGrace(): boolean {
    return this.#cancelGrace !== undefined;
  }

  /** The source reports that there is no document: it is served as it was until the grace is over. */
  begin(): void {
    const { context, deletionGraceMs, deletionPolicy } = this.#options;
    const { key, newest } = this.#topic;
    this.policy = deletionPolicy;
    context.logger.info({ topic: key, deletionGraceMs, deletionPolicy }, "the FeatureFlag was deleted");
    this.#cancelGrace = context.clock.after(deletionGraceMs, () => this.#settle());
    this.#topic.become({ kind: "deleted", phase: "grace", snapshot: newest });
  }

  /** The source has waited for the grace already. */
  bySource(applied: DeletionPolicy): void {
    const before = standing(this.#topic.state);
    if (before.kind === "deleted" && before.phase === "settled" && this.policy === applied) {
      this.#topic.become(before);
      return;
    }
    this.policy = applied;
    this.#options.context.logger.info(
      { topic: this.#topic.key, deletionPolicy: applied },
      "the FeatureFlag was deleted, as the upstream says",
    );
    // Also ends a staleness: the source has answered.
    this.#topic.become(before);
    this.#settle();
  }

  /** To be called when there is a document after all, or nobody is left to tell. */
  endGrace(): void {
    this.#cancelGrace?.();
    this.#cancelGrace = undefined;
  }

  #settle(): void {
    this.endGrace();
    const { clock } = this.#options.context;
    const { key, newest } = this.#topic;
    let after = newest;
    if (this.policy === "close") {
      const error = new ProxyError("TOPIC_DELETED", `the FeatureFlag ${key} was deleted`);
      this.#topic.refuse(error, ({ readsTombstones }) => readsTombstones === true);
      after = undefined;
    } else if (this.policy === "empty") {
      const bytes = encodeSnapshot(emptyFlagDocument, newest?.bytes);
      const version = { ...newest?.version, noticedMs: clock.monotonicMs() };
      if (newest?.digest !== bytes.digest) after = this.#topic.nextSnapshot(bytes, version);
    }
    const settled: StandingState = { kind: "deleted", phase: "settled", snapshot: after };
    const { state } = this.#topic;
    this.#topic.become(state.kind === "stale" ? { ...state, standing: settled } : settled);
  }
}
