import {
  allowed,
  type Authorizer,
  type Decision,
  type Identity,
  type TopicReaders,
  type TopicName,
} from "@bunting/identity";
import { topicKey, type TopicKey } from "@bunting/protocol";
import { sleep, type Clock } from "@bunting/runtime";

export interface SharingAuthorizerOptions {
  readonly authorizer: Authorizer;
  /** The readers that a FeatureFlag is shared with; `unknown` until the source has read them. */
  readonly readersOf: (topic: TopicKey) => TopicReaders | undefined | "unknown";
  readonly clock: Clock;
}

/** Time-out of a decision that waits for the source to read the readers, as after a start. */
const timeoutMs = 5_000;
const lookEveryMs = 100;
const never = new AbortController().signal;
const unknown: Decision = {
  kind: "unavailable",
  reason: "the annotations that share FeatureFlags have not been read yet",
};

/** Tells an authorizer whom a FeatureFlag is shared with. It denies nothing for as long as that is not known. */
export class SharingAuthorizer implements Authorizer {
  readonly #options: SharingAuthorizerOptions;

  constructor(options: SharingAuthorizerOptions) {
    this.#options = options;
  }

  check(identity: Identity, topic: TopicName): Decision | Promise<Decision> {
    const { authorizer } = this.#options;
    const readers = this.#readersOf(topic);
    if (readers !== "unknown") return authorizer.check(identity, topic, readers);
    const decision = authorizer.check(identity, topic, undefined);
    // For a topic of its own namespace nothing has to be known.
    if (!(decision instanceof Promise) && decision.kind === "allowed") return decision;
    return this.#wait(identity, topic, decision);
  }

  recheck(identity: Identity, topic: TopicName): Decision | Promise<Decision> {
    const { authorizer } = this.#options;
    const readers = this.#readersOf(topic);
    const known = readers === "unknown" ? undefined : readers;
    const decision = authorizer.recheck?.(identity, topic, known) ?? authorizer.check(identity, topic, known);
    if (readers !== "unknown") return decision;
    return decision instanceof Promise ? decision.then(unlessDenied) : unlessDenied(decision);
  }

  holds(identity: Identity, topic: TopicName): Decision {
    const readers = this.#readersOf(topic);
    return readers === "unknown" ? allowed : this.#options.authorizer.holds(identity, topic, readers);
  }

  async #wait(
    identity: Identity,
    topic: TopicName,
    withoutReaders: Decision | Promise<Decision>,
  ): Promise<Decision> {
    const { authorizer, clock } = this.#options;
    const decision = await withoutReaders;
    if (decision.kind === "allowed") return decision;
    for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += lookEveryMs) {
      await sleep(lookEveryMs, never, clock);
      const readers = this.#readersOf(topic);
      if (readers !== "unknown") return authorizer.check(identity, topic, readers);
    }
    return unlessDenied(decision);
  }

  /** A file, which is in no namespace, is shared with no one. */
  #readersOf({ namespace, name }: TopicName): TopicReaders | undefined | "unknown" {
    return namespace === "" ? undefined : this.#options.readersOf(topicKey(namespace, name));
  }
}

function unlessDenied(decision: Decision): Decision {
  return decision.kind === "denied" ? unknown : decision;
}
