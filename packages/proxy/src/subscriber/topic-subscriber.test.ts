import { buntingSyncV1, type FlagDocument } from "@bunting/protocol";
import { createLogger, Deadlines, RateLimitedLog } from "@bunting/runtime";
import type { TransportSession } from "@bunting/rpc";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { noMetrics } from "../proxy-metrics.js";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { Snapshot } from "../snapshot/snapshot.js";
import { Subscription, type SubscribedTopic } from "../topic/subscription.js";
import { TopicAcks } from "../topic/topic-acks.js";
import { TopicSubscriber } from "./topic-subscriber.js";

const key = "demo/flags";

function version(number: number): FlagDocument {
  return { flags: { ballast: { state: "x".repeat(1_000) }, f: { state: `v${number}` } } };
}

/** A subscriber of a topic that has published so many versions, and how to publish the next. */
function useSubscriber(isProxy: boolean, versions: number, subscribedAtMs = 0) {
  const clock = new ManualClock();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  const fannedOut: number[] = [];
  let newest: Snapshot | undefined;
  const publish = (number = (newest?.sequence ?? 0) + 1): void => {
    const sequence = (newest?.sequence ?? 0) + 1;
    const bytes = encodeSnapshot(version(number), newest?.bytes);
    const publishedMs = clock.monotonicMs();
    newest = new Snapshot({ topic: key, sequence, version: { noticedMs: 0 }, publishedMs, bytes });
  };
  for (let one = 0; one < versions; one++) publish();
  const topic: SubscribedTopic = {
    acks: new TopicAcks(key, clock, new RateLimitedLog(logger, clock)),
    get sequence() {
      return newest?.sequence ?? 0;
    },
    get view() {
      if (newest === undefined) throw new Error("nothing was published");
      return { kind: "live" as const, snapshot: newest, tombstone: undefined };
    },
    missedSince: () => undefined,
    leave: () => undefined,
    caughtUp: () => undefined,
    conflated: () => undefined,
  };
  const connection = {} as TransportSession;
  const owner = {
    connection,
    program: "",
    instance: undefined,
    readsTrials: isProxy,
    isProxy,
    readsFreshness: isProxy,
    identity: undefined,
    due: () => undefined,
    ended: () => undefined,
  };
  const unanswered = new Deadlines<TopicSubscriber>(clock, 1_000, (late) => late.giveUp());
  const metrics = { ...noMetrics, fannedOut: (ms: number) => void fannedOut.push(ms) };
  const context = { metrics, clock, unanswered, refresh: () => () => undefined };
  const subscriber = new TopicSubscriber(context, owner, key);
  clock.advance(subscribedAtMs);
  subscriber.open(new Subscription(topic, subscriber), undefined);
  let number = 0;
  /** What it sends next: the kind of the message, and the version that this is about. */
  const next = (): string => {
    const frame = subscriber.next(++number)?.frame ?? new Uint8Array(5);
    const { message } = buntingSyncV1.SyncResponse.decode(frame.subarray(5));
    const digest =
      message?.$case === "history"
        ? message.value.digest
        : message !== undefined && "version" in message.value
          ? message.value.version?.digest
          : undefined;
    return `${message?.$case} ${digest?.toString("hex") === newest?.digest}`;
  };
  /** The agent applies nothing of the message that was sent last, and holds nothing. */
  const nack = (): void => {
    const value = { topic: key, number: String(number), heldDigest: Buffer.alloc(0), reason: "no" };
    subscriber.answer({ $case: "nack", value: { ...value, isDeltaMismatch: false } }, number);
  };
  /** The agent has applied it. */
  const ack = (): void => {
    const digest = Buffer.from(newest?.digest ?? "", "hex");
    const value = { topic: key, number: String(number), digest, rejectedFlags: [] };
    subscriber.answer({ $case: "ack", value }, number);
  };
  return { publish, next, nack, ack, subscriber, clock, fannedOut };
}

describe("TopicSubscriber", () => {
  it("sends another proxy the history of the version that follows", () => {
    const { next } = useSubscriber(true, 3);
    expect([next(), next()]).to.deep.equal(["history true", "snapshot true"]);
  });

  it("sends the history of a newer version that takes its place, and sends a version although there is always a newer one", () => {
    const { publish, next } = useSubscriber(true, 3);
    const sent = Array.from({ length: 4 }, () => {
      const message = next();
      publish();
      return message;
    });
    expect(sent).to.deep.equal(["history true", "history true", "history true", "snapshot true"]);
  });

  it("sends no history where there is none, and none to an agent", () => {
    expect(useSubscriber(true, 1).next()).to.equal("snapshot true");
    expect(useSubscriber(false, 3).next()).to.equal("snapshot true");
  });

  it("does not send again what the agent refused, until an answer fails to come: what the agent holds is then unknown", () => {
    const { publish, next, nack, subscriber } = useSubscriber(false, 1);
    expect(next()).to.equal("snapshot true");
    nack();
    expect(next(), "refused").to.equal("undefined false");
    publish(2);
    expect(next()).to.equal("snapshot true");
    publish(1);
    subscriber.giveUp();
    expect(next(), "edited back").to.equal("snapshot true");
  });

  it("gives the agent its time for the answer from when the message has been written, and sends it once over a slow link", () => {
    const { next, ack, subscriber, clock } = useSubscriber(false, 1);
    expect(next()).to.equal("snapshot true");
    clock.advance(10_000);
    subscriber.written();
    clock.advance(999);
    ack();
    expect(next()).to.equal("undefined false");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("sends what the agent refused again once it has taken another version: it may have been refused for what came before", () => {
    const { publish, next, nack, ack } = useSubscriber(false, 1);
    expect(next()).to.equal("snapshot true");
    nack();
    publish(2);
    expect(next()).to.equal("snapshot true");
    ack();
    publish(1);
    expect(next()).to.match(/ true$/);
  });

  it("measures the way of what was published while it was subscribed, and of nothing older", () => {
    const { publish, next, subscriber, clock, fannedOut } = useSubscriber(false, 1, 3_600_000);
    expect(next()).to.equal("snapshot true");
    clock.advance(5);
    subscriber.written();
    expect(fannedOut).to.deep.equal([]);
    subscriber.giveUp();
    publish();
    expect(next()).to.equal("snapshot true");
    clock.advance(7);
    subscriber.written();
    expect(fannedOut).to.deep.equal([7]);
  });
});
