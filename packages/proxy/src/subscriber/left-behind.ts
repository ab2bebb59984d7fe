import { identityName, type Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import { SetMultimap, type ServingContext } from "@bunting/runtime";
import type { MissedVersions, Subscriber, Subscription } from "../topic/subscription.js";

export interface LeftSubscriber extends MissedVersions {
  readonly address: string | undefined;
  readonly identity: Identity | undefined;
  readonly program: string | undefined;
  /** Digest that it acknowledged last; undefined if it has acknowledged none. */
  readonly digest: string | undefined;
  /** On the monotonic clock. */
  readonly leftMs: number;
}

const rememberedMs = 600_000;
const maxRemembered = 1_000;
/** A version that was published less than this ago may just be on its way. */
const lateAfterMs = 1_000;
const linesPerMinute = 20;
const maxLoggedTopics = 10;

/**
 * Those that left without the newest version, such as a frozen agent whose connection was dropped: for ten minutes, or until they are back. A
 * subscriber that has what is newest leaves no trace. At most a thousand are remembered, the latest.
 */
export class LeftBehind {
  readonly #context: Pick<ServingContext, "clock" | "log">;
  /** In the order in which they left. */
  readonly #left = new Set<LeftSubscriber>();
  /** By topic and address: thousands may come back at once, and each is looked for. */
  readonly #byPlace = new SetMultimap<string, LeftSubscriber>();

  constructor(context: Pick<ServingContext, "clock" | "log">) {
    this.#context = context;
  }

  /** The latest last. */
  get all(): ReadonlySet<LeftSubscriber> {
    const nowMs = this.#context.clock.monotonicMs();
    for (const left of this.#left) {
      if (nowMs - left.leftMs < rememberedMs) break;
      this.#forget(left);
    }
    return this.#left;
  }

  /** To be called when a stream ends, before its subscriptions are closed. */
  leaves(subscriptions: Iterable<Subscription>): void {
    const leftMs = this.#context.clock.monotonicMs();
    const late: LeftSubscriber[] = [];
    for (const { missed, subscriber } of subscriptions) {
      if (missed === undefined || leftMs - missed.sinceMs < lateAfterMs) continue;
      const { connection, identity, program, lastDigest } = subscriber;
      const digest = lastDigest === "" ? undefined : lastDigest;
      late.push({ ...missed, address: connection?.remoteAddress, identity, program, digest, leftMs });
    }
    for (const left of late) {
      this.#remember(left);
      const [oldest] = this.#left;
      if (this.#left.size > maxRemembered && oldest !== undefined) this.#forget(oldest);
    }
    this.#warn(late);
  }

  /** To be called when somebody subscribes, who may be back. */
  subscribed(topic: TopicKey, { connection, identity }: Subscriber, heldDigest: string | undefined): void {
    if (this.all.size === 0) return;
    const here = this.#byPlace.get(placeOf({ topic, address: connection?.remoteAddress }));
    const candidates = [...here].filter((left) => left.identity?.podUid === identity?.podUid);
    const back = candidates.find(({ digest }) => digest === heldDigest) ?? candidates[0];
    if (back !== undefined) this.#forget(back);
  }

  #remember(left: LeftSubscriber): void {
    this.#left.add(left);
    this.#byPlace.add(placeOf(left), left);
  }

  #forget(left: LeftSubscriber): void {
    this.#left.delete(left);
    this.#byPlace.delete(placeOf(left), left);
  }

  #warn(late: readonly LeftSubscriber[]): void {
    const [first] = late;
    if (first === undefined) return;
    const named = late.slice(0, maxLoggedTopics);
    const more = late.length - named.length;
    const { address: peer, identity, program, sinceMs, leftMs } = first;
    const fields = {
      peer,
      ...(identity === undefined ? {} : { identity: identityName(identity), pod: identity.pod }),
      program,
      topics: named.map(({ topic }) => topic),
      digest: named.map(({ digest }) => digest ?? "none").join(", "),
      behindForMs: Math.round(leftMs - sinceMs),
      ...(more > 0 ? { more } : {}),
    };
    this.#context.log.warn(
      "left_behind",
      fields,
      "a subscriber has gone without the newest flags",
      linesPerMinute,
    );
  }
}

function placeOf({ topic, address = "" }: Pick<LeftSubscriber, "topic" | "address">): string {
  return `${topic} ${address}`;
}
