import { BackplaneError, type Lease, type StoredRecord, type TopicRecord } from "@bunting/backplane";
import type { PastVersion } from "@bunting/protocol";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { ProxyError } from "../../proxy-error.js";
import { encodeSnapshot } from "../../snapshot/encode-snapshot.js";
import { RecordingSink } from "../source.fixture.js";
import { markRefusedTrial } from "../trial.js";
import { documentOf, textOf } from "./backplane.fixture.js";
import { ReplicatedTopic } from "./replicated-topic.js";

const key = "demo/flags";

/** A topic that another replica owns unless there is a lease, and what this replica reads when it watches for itself. */
function followed(resourceVersion: string, lease?: Lease) {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock);
  source.publish(key, documentOf(resourceVersion), { resourceVersion });
  source.refresh = (topic, done) => {
    source.repeat(topic);
    done();
    return () => undefined;
  };
  const ignore = (): void => undefined;
  const repairs: string[] = [];
  const owner = { lease };
  const topic = new ReplicatedTopic(key, {
    ...{
      source,
      context: { clock, metrics: { backplaneRecordRefused: ignore } },
      follower: { follow: ignore },
    },
    ...{ usesRedis: () => true, lease: () => owner.lease, times: { answerMs: 7_000, freshMs: 45_000 } },
    events: {
      ...{ onAnswered: ignore, onStale: ignore, onFollowed: () => undefined, onRead: ignore },
      onRefused: (_, { code }) => repairs.push(code),
    },
  });
  const sink = new RecordingSink();
  topic.attach(sink, undefined);
  return { topic, owner, source, sink, clock, repairs };
}

function stored(epoch: number, resourceVersion: string, confirmedAgoMs = 0): StoredRecord {
  const document = documentOf(resourceVersion);
  const record = { topic: key, kind: "document", epoch, resourceVersion, document } as const;
  return { record, fence: epoch, confirmedAgoMs };
}

describe("ReplicatedTopic", () => {
  it("does not take an older version of a later epoch, which an owner that lags behind has written where Redis was empty", async () => {
    const { topic, source, sink } = followed("87");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.following.record(stored(2, "86"));
    expect(source.watchCount).to.equal(1);
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.following.record(stored(2, "88"));
    expect(await sink.nextText()).to.equal(textOf("88"));
    expect(source.watchCount).to.equal(0);
    expect(sink.events).to.have.length(3);
  });

  it("goes on as the owner after an older version of a later epoch, which nobody is left to correct", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, sink } = followed("87", lease);
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.rebase(stored(5, "86"), 5);
    expect(topic.current).to.deep.include({ epoch: 5, resourceVersion: "87" });
    expect(sink.lastText).to.equal(textOf("87"));
  });

  it("goes on as the owner after a newer version of a later epoch, which was lost when the API server's store was restored", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, sink } = followed("50", lease);
    expect(await sink.nextText()).to.equal(textOf("50"));
    topic.rebase(stored(5, "87", 45_000), 5);
    expect(topic.current).to.deep.include({ epoch: 6, resourceVersion: "50" });
    expect(sink.lastText).to.equal(textOf("50"));
  });

  it("goes on as the owner after a version whose trial alone was refused here: the others are to have it", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, source, sink } = followed("87", lease);
    expect(await sink.nextText()).to.equal(textOf("87"));
    const report = sink.report.bind(sink);
    const cause = new ProxyError("DOCUMENT_CROWDED_OUT", "no memory");
    markRefusedTrial(cause);
    sink.report = (told) => {
      report(told);
      const { trial } = told.kind === "document" ? told.version : { trial: undefined };
      if (trial !== undefined) throw cause;
    };
    const trial = { document: documentOf("89"), digest: "ab", reach: 10 };
    expect(() => source.publish(key, documentOf("88"), { resourceVersion: "88", trial })).to.throw(
      "no memory",
    );
    expect(topic.current).to.deep.include({ resourceVersion: "88", document: documentOf("88") });
    // As sources report what was refused.
    source.stale(key, new ProxyError("DOCUMENT_INVALID", "the FeatureFlag is refused", { cause }));
    expect(topic.current).to.deep.include({ resourceVersion: "88", document: documentOf("88") });
    source.renew(key, "89");
    expect(topic.current).to.deep.include({ resourceVersion: "89", document: documentOf("88") });
    expect(sink.lastText).to.equal(textOf("88"));
  });

  it("is stale for a sink that comes later and can't take what is known, and goes on", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, sink: first } = followed("87", lease);
    expect(await first.nextText()).to.equal(textOf("87"));
    topic.isWantedElsewhere = true;
    topic.detach();
    const sink = new RecordingSink();
    const report = sink.report.bind(sink);
    sink.report = (told) => {
      if (told.kind === "document") throw new ProxyError("DOCUMENT_CROWDED_OUT", "no memory");
      report(told);
    };
    topic.attach(sink, undefined);
    await eventually(() => sink.events.length > 0, "what the later sink is told");
    expect(sink.events.map(({ kind }) => kind)).to.deep.equal(["stale"]);
    expect(topic.current).to.deep.include({ resourceVersion: "87" });
  });

  it("says of what was confirmed before it asked that it is stale, until an owner confirms it", async () => {
    const { topic, sink, source, clock } = followed("87");
    topic.following.record(stored(1, "87", 2));
    expect(await sink.nextText()).to.equal(textOf("87"));
    expect(sink.last?.kind).to.equal("stale");
    expect(topic.following.isUnconfirmed).to.equal(true);
    clock.advance(2_000);
    topic.following.confirmed(2_002, { epoch: 1, resourceVersion: "87" });
    expect(sink.last?.kind).to.equal("stale");
    topic.following.confirmed(1_000, { epoch: 1, resourceVersion: "87" });
    expect(sink.last?.kind).to.equal("document");
    expect(topic.following.isUnconfirmed).to.equal(false);
    expect(source.watchCount).to.equal(0);
  });

  it("tells a record that its subscribers had no memory for again once it is offered, and leaves to the watch what that has to report", async () => {
    const { topic, sink, clock, source } = followed("87");
    topic.following.record(stored(1, "86"));
    expect(await sink.nextText()).to.equal(textOf("86"));
    const report = sink.report.bind(sink);
    sink.report = (told) => {
      if (told.kind === "document") throw new ProxyError("DOCUMENT_CROWDED_OUT", "no memory");
      report(told);
    };
    topic.following.record(stored(1, "87"));
    await sink.nextStale();
    sink.report = report;
    expect(topic.offerAgain()).to.equal(true);
    expect(await sink.nextText()).to.equal(textOf("87"));
    expect(sink.events).to.have.length(3);
    clock.advance(60_000);
    topic.expire();
    expect(source.watchCount).to.equal(1);
    expect(topic.offerAgain()).to.equal(false);
  });

  it("watches for itself what no owner confirms in time", async () => {
    const { topic, sink, source, clock } = followed("87");
    topic.following.record(stored(1, "87", 5));
    expect(await sink.nextText()).to.equal(textOf("87"));
    clock.advance(6_999);
    topic.expire();
    expect(source.watchCount).to.equal(0);
    clock.advance(1);
    topic.expire();
    expect(source.watchCount).to.equal(1);
  });

  it("goes on to watch what it does not own any more until another owner has confirmed it, without a gap", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, owner, sink, source, clock } = followed("87", lease);
    expect(await sink.nextText()).to.equal(textOf("87"));
    clock.advance(10_000);
    owner.lease = undefined;
    topic.invalidateConfirmation();
    topic.settle();
    const position = { epoch: 3, resourceVersion: "87" };
    // By itself.
    topic.following.confirmed(1_000, position);
    expect([source.watchCount, source.watchCounts.get(key)]).to.deep.equal([1, 1]);
    clock.advance(2_000);
    topic.following.confirmed(1_000, position);
    expect(source.watchCount).to.equal(0);
    expect(sink.events).to.have.length(1);
  });

  it("tells a subscriber that comes to what is watched for others what it is, and whether it is stale", async () => {
    const lease = { holder: "this", fence: 3, untilMs: Infinity };
    const { topic, sink, source } = followed("87", lease);
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.isWantedElsewhere = true;
    for (const isStale of [false, true]) {
      topic.detach();
      if (isStale) source.stale(key, new Error("the API server is away"));
      const next = new RecordingSink();
      topic.attach(next, undefined);
      expect(await next.nextText()).to.equal(textOf("87"));
      expect(next.last?.kind).to.equal(isStale ? "stale" : "document");
    }
    expect(source.watchCounts.get(key)).to.equal(1);
  });

  it("says that it is stale once the last confirmation is too old, if its own watch can't read it either", async () => {
    const { topic, sink, source, clock } = followed("87");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    // While it reads once more, it watches beside the owner.
    source.refresh = () => () => undefined;
    topic.refresh(() => undefined, undefined);
    source.stale(key, new Error("the API server is away"));
    clock.advance(44_999);
    topic.expire();
    expect(sink.last?.kind).to.equal("document");
    clock.advance(1);
    topic.expire();
    topic.expire();
    expect(sink.events.map(({ kind }) => kind)).to.deep.equal(["document", "stale"]);
  });

  it("tells nothing twice where Redis, which was away, holds what it has read meanwhile", async () => {
    const { topic, sink, source } = followed("87");
    topic.following.refused(new BackplaneError("RECORD_MALFORMED", "it is no record"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.following.record(stored(5, "87"));
    expect(source.watchCount).to.equal(0);
    expect(sink.events).to.have.length(1);
    topic.following.record(stored(5, "88"));
    expect(sink.lastText).to.equal(textOf("88"));
  });

  it("has a record written anew once, and then ever more rarely while what is written can't be used either", () => {
    const { topic, clock, repairs, source } = followed("87");
    const refuse = (): void =>
      topic.following.refused(new BackplaneError("RECORD_UNVERIFIED", "it is signed with another key"));
    for (let second = 0; second < 3_600; second++) {
      refuse();
      clock.advance(1_000);
    }
    expect(repairs.length).to.be.within(10, 20);
    expect(source.watchCount).to.equal(1);
    topic.following.record(stored(1, "87"));
    const before = repairs.length;
    for (let times = 0; times < 3; times++) refuse();
    expect(repairs).to.have.length(before + 1);
  });

  it("does not take the confirmation of a version that it doubts for one of what it has told", async () => {
    const { topic, source, sink } = followed("87");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    source.refresh = () => () => undefined;
    topic.following.record(stored(2, "86"));
    topic.following.confirmed(0, { epoch: 2, resourceVersion: "86" });
    expect(source.watchCount).to.equal(1);
  });

  it("takes the place in history that an owner confirms although it knew the same document by itself before", async () => {
    const { topic, sink, source, clock } = followed("87");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    clock.advance(45_000);
    topic.expire();
    expect(await sink.nextText()).to.equal(textOf("87"));
    expect(topic.following.record(stored(3, "87", 45_000))).to.equal(false);
    expect(source.watchCount).to.equal(1);
    topic.following.confirmed(0, { epoch: 3, resourceVersion: "87" });
    expect(topic.following.record(stored(3, "87"))).to.equal(true);
    expect(source.watchCount).to.equal(0);
  });

  it("takes an owner's word that there is no FeatureFlag, also of one that has not seen which version was deleted", async () => {
    const { topic, sink, source, clock } = followed("87");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    const record = { topic: key, kind: "deleted", epoch: 1, resourceVersion: "88" } as const;
    topic.following.record({ ...stored(1, "88"), record });
    source.delete(key);
    clock.advance(45_000);
    topic.expire();
    await eventually(() => topic.isCurrent, "its own watch");
    const earlier = { epoch: 1, resourceVersion: "0" };
    topic.following.confirmed(0, earlier, false);
    expect(source.watchCount, "the owner has a document").to.equal(1);
    topic.following.confirmed(0, earlier, true);
    expect([source.watchCount, topic.following.isUnconfirmed]).to.deep.equal([0, false]);
    topic.following.record(stored(1, "89"));
    expect(sink.lastText).to.equal(textOf("89"));
  });

  it("takes it where a consistent read says the same: the API server's store was restored", async () => {
    const { topic, sink } = followed("50");
    topic.following.record(stored(1, "87"));
    expect(await sink.nextText()).to.equal(textOf("87"));
    topic.following.record(stored(2, "50"));
    expect(await sink.nextText()).to.equal(textOf("50"));
  });

  describe("knows the history of its document", () => {
    const past = (resourceVersion: string): PastVersion => ({
      digest: encodeSnapshot(documentOf(resourceVersion)).digest,
      flags: ["f"],
      metadata: false,
      evaluators: false,
    });
    const withHistory = (
      epoch: number,
      resourceVersion: string,
      ...history: readonly string[]
    ): StoredRecord => {
      const { record, ...rest } = stored(epoch, resourceVersion);
      return { ...rest, record: { ...record, kind: "document", history: history.map(past) } as TopicRecord };
    };
    const lease = { holder: "this", fence: 3, untilMs: Infinity };

    it("from Redis, where it follows, and tells it", async () => {
      const { topic, sink } = followed("87");
      topic.following.record(withHistory(1, "87", "85", "86"));
      expect(await sink.nextText()).to.equal(textOf("87"));
      expect(sink.histories).to.deep.equal([[past("85"), past("86")]]);
    });

    it("from what it reads, and goes on from what Redis held before, whichever it learns first", async () => {
      for (const isReadFirst of [true, false]) {
        const { topic, source, sink } = followed("87", lease);
        if (!isReadFirst) topic.following.record(withHistory(3, "86", "84", "85"));
        expect(await sink.nextText()).to.equal(textOf(isReadFirst ? "87" : "86"));
        await eventually(() => sink.lastText === textOf("87"), "what it reads");
        topic.rebase(withHistory(3, "86", "84", "85"), 3);
        const history = ["84", "85", "86"].map(past);
        expect(topic.current).to.deep.include({ resourceVersion: "87", history });
        if (isReadFirst) expect(sink.histories.at(-1)).to.deep.equal(history);
        source.publish(key, documentOf("88"), { resourceVersion: "88" });
        expect(topic.current).to.deep.include({ resourceVersion: "88", history: [...history, past("87")] });
      }
    });

    it("as its subscribers do, where it has any", async () => {
      const { topic, sink, source } = followed("87", lease);
      expect(await sink.nextText()).to.equal(textOf("87"));
      Object.assign(sink, { history: [past("of its subscribers")] });
      source.publish(key, documentOf("88"), { resourceVersion: "88" });
      expect(topic.current).to.deep.include({ history: [past("of its subscribers")] });
    });
  });

  it("watches for itself where Redis holds an older version than it told, until an owner has written that again", async () => {
    const { topic, sink, source } = followed("50");
    topic.following.record(stored(9, "99"));
    expect(await sink.nextText()).to.equal(textOf("99"));
    expect(source.watchCount).to.equal(0);
    topic.following.confirmed(0, { epoch: 9, resourceVersion: "98" });
    expect(source.watchCount).to.equal(1);
    topic.following.record(stored(9, "100"));
    expect(await sink.nextText()).to.equal(textOf("100"));
    await eventually(() => source.watchCount === 0, "the end of the watch");
  });

  it("writes in the epoch of its lease what it knows in one that no owner can have begun", async () => {
    const lease = { name: "namespace/demo", holder: "this", fence: 3, untilMs: Infinity };
    for (const isRebased of [true, false]) {
      const { topic, sink } = followed("50", lease);
      topic.following.record(stored(9_007_199_254_740_000, "49"));
      await eventually(() => sink.lastText === textOf("50"), "what it reads");
      expect(topic.current).to.deep.include({ epoch: 9_007_199_254_740_000, resourceVersion: "50" });
      if (isRebased) topic.rebase(stored(2, "49"), 3);
      else topic.anchor(3);
      expect(topic.current).to.deep.include({ epoch: 3, resourceVersion: "50" });
      expect(sink.lastText).to.equal(textOf("50"));
    }
  });

  it("goes on in the owner's epoch if it was in a later one of its own, with the same version: Redis was away when both began one", async () => {
    const { topic, sink, source, clock } = followed("50");
    topic.following.record(stored(2, "50"));
    expect(await sink.nextText()).to.equal(textOf("50"));
    topic.following.record(stored(3, "50"));
    expect(await sink.nextText()).to.equal(textOf("50"));
    clock.advance(45_000);
    topic.expire();
    expect(await sink.nextText()).to.equal(textOf("50"));
    expect(source.watchCount).to.equal(1);
    topic.following.confirmed(0, { epoch: 2, resourceVersion: "49" });
    expect(source.watchCount).to.equal(1);
    topic.following.confirmed(0, { epoch: 2, resourceVersion: "50" });
    expect(source.watchCount).to.equal(0);
    topic.following.record(stored(2, "51"));
    expect(await sink.nextText()).to.equal(textOf("51"));
  });
});
