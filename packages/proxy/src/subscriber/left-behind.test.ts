import { createLogger, RateLimitedLog } from "@bunting/runtime";
import type { TransportSession } from "@bunting/rpc";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { Subscription, type SubscribedTopic, type Subscriber } from "../topic/subscription.js";
import { TopicAcks } from "../topic/topic-acks.js";
import { startingView } from "../topic/topic-view.js";
import { LeftBehind } from "./left-behind.js";

const topic = "shop/cart";
const pod = {
  kind: "token",
  namespace: "shop",
  serviceAccount: "cart",
  pod: "cart-1",
  podUid: "uid-1",
} as const;

function useLeftBehind() {
  const clock = new ManualClock();
  const lines: object[] = [];
  const logger = createLogger(
    { format: "json", debug: false },
    { write: (line) => lines.push(JSON.parse(line) as object) },
  );
  const log = new RateLimitedLog(logger, clock);
  const left = new LeftBehind({ clock, log });
  const subscriber = (address: string, digest: string, identity?: Subscriber["identity"]): Subscriber => ({
    connection: { remoteAddress: address } as TransportSession,
    identity,
    program: "bunting-agent/1",
    lastDigest: digest,
    wake: () => undefined,
    refuse: () => undefined,
  });
  /** A subscription whose subscriber has lacked the newest version for so long; 0: it has it. */
  const late = (of: Subscriber, lateMs: number): Subscription => {
    const sinceMs = clock.monotonicMs() - lateMs;
    const from: SubscribedTopic = {
      view: startingView,
      sequence: 0,
      acks: new TopicAcks(topic, clock, log),
      missedSince: () => (lateMs === 0 ? undefined : { topic, sinceMs, count: 3 }),
      leave: () => undefined,
      caughtUp: () => undefined,
      conflated: () => undefined,
    };
    return new Subscription(from, of);
  };
  return { clock, lines, left, subscriber, late };
}

describe("LeftBehind", () => {
  it("remembers for ten minutes who has gone without the newest version, and warns with who that is and what it holds", () => {
    const { clock, lines, left, subscriber, late } = useLeftBehind();
    left.leaves([late(subscriber("10.0.0.1", "abc", pod), 40_000)]);
    expect([...left.all]).to.have.length(1);
    expect([...left.all][0]).to.deep.include({ topic, address: "10.0.0.1", digest: "abc", count: 3 });
    expect(lines).to.have.length(1);
    expect(lines[0]).to.deep.include({
      level: "warn",
      msg: "a subscriber has gone without the newest flags",
      peer: "10.0.0.1",
      identity: "system:serviceaccount:shop:cart",
      pod: "cart-1",
      program: "bunting-agent/1",
      topics: [topic],
      digest: "abc",
      behindForMs: 40_000,
    });
    clock.advance(599_999);
    expect(left.all.size).to.equal(1);
    clock.advance(1);
    expect(left.all.size).to.equal(0);
  });

  it("takes no notice of one that has the newest version, or whose version may be on its way", () => {
    const { lines, left, subscriber, late } = useLeftBehind();
    left.leaves([late(subscriber("10.0.0.1", "abc"), 0), late(subscriber("10.0.0.2", "abc"), 900)]);
    expect(left.all.size).to.equal(0);
    expect(lines).to.deep.equal([]);
  });

  it("forgets one of those at an address when somebody there is back, the one that holds the same if it says so", () => {
    const { left, subscriber, late } = useLeftBehind();
    const [one, other] = [subscriber("127.0.0.1", "abc"), subscriber("127.0.0.1", "def")];
    left.leaves([late(one, 5_000), late(other, 5_000), late(subscriber("127.0.0.1", "abc", pod), 5_000)]);
    left.subscribed("shop/other", other, "def");
    left.subscribed(topic, subscriber("10.0.0.9", "def"), "def");
    expect(left.all.size, "another topic, another address").to.equal(3);
    left.subscribed(topic, other, "def");
    expect([...left.all].map(({ digest, identity }) => [digest, identity?.pod])).to.deep.equal([
      ["abc", undefined],
      ["abc", "cart-1"],
    ]);
    left.subscribed(topic, subscriber("127.0.0.1", "", pod), undefined);
    left.subscribed(topic, one, undefined);
    expect(left.all.size).to.equal(0);
  });

  it("is bounded, whoever comes and goes", () => {
    const { lines, left, subscriber, late } = useLeftBehind();
    for (let n = 0; n < 1_200; n++) left.leaves([late(subscriber(`10.0.${n}`, "abc"), 5_000)]);
    expect(left.all.size).to.equal(1_000);
    expect([...left.all][0]).to.include({ address: "10.0.200" });
    expect(lines).to.have.length(20);
  });
});
