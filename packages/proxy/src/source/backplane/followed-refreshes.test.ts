import { setImmediate as nextTurn } from "node:timers/promises";
import type { TopicKey } from "@bunting/protocol";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { RecordingSink } from "../source.fixture.js";
import { FollowedRefreshes } from "./followed-refreshes.js";
import { ReplicatedTopic } from "./replicated-topic.js";

const ignore = (): void => undefined;

/** A replica that follows topics. `answer` is that of Redis to a request to the owner. */
function useRefreshes(answer: () => Promise<void> = () => Promise.resolve()) {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock, false);
  const asked: TopicKey[] = [];
  const refreshes = new FollowedRefreshes({
    records: { read: () => Promise.resolve(undefined) },
    interest: {
      ask: (key: TopicKey) => {
        asked.push(key);
        return answer();
      },
    },
    clock,
  });
  const topicOf = (key: TopicKey): ReplicatedTopic =>
    new ReplicatedTopic(key, {
      ...{ source, follower: { follow: ignore } },
      ...{ usesRedis: () => true, lease: () => undefined },
      ...{ context: { clock, metrics: { backplaneRecordRefused: ignore } } },
      times: { answerMs: 7_000, freshMs: 45_000 },
      events: {
        ...{ onAnswered: ignore, onStale: ignore, onFollowed: ignore, onRefused: ignore, onRead: ignore },
      },
    });
  const pass = async (ms: number): Promise<void> => {
    await nextTurn();
    clock.advance(ms);
    await nextTurn();
  };
  return { clock, source, asked, refreshes, topicOf, pass };
}

describe("FollowedRefreshes", () => {
  it("reads a topic by its owner although nobody can read four others", async () => {
    const { clock, source, asked, refreshes, topicOf, pass } = useRefreshes();
    const unreadable = (["a/1", "b/1", "c/1", "d/1"] as const).map((key) => topicOf(key));
    for (const topic of unreadable) refreshes.claim(topic, "one", ignore);
    await pass(2_000);
    expect(source.refreshes.map(({ topic }) => topic)).to.deep.equal(unreadable.map(({ key }) => key));
    const done: string[] = [];
    refreshes.claim(topicOf("e/1"), "other", () => done.push("e/1"));
    await pass(10_000);
    expect(asked).to.include("e/1");
    refreshes.announced("e/1");
    await nextTurn();
    expect(done).to.deep.equal(["e/1"]);
    await refreshes.stop();
    expect([clock.pendingTimers, source.watchCount]).to.deep.equal([0, 0]);
  });

  it("asks the owner again for a topic that this replica could not read either", async () => {
    const { asked, refreshes, topicOf, pass } = useRefreshes();
    const done: string[] = [];
    refreshes.claim(topicOf("a/1"), "one", () => done.push("a/1"));
    await pass(2_000);
    await pass(10_000);
    await pass(1_000);
    expect(asked).to.deep.equal(["a/1", "a/1"]);
    refreshes.announced("a/1");
    await nextTurn();
    expect(done).to.deep.equal(["a/1"]);
    await refreshes.stop();
  });

  it("asks nobody for a topic that it watches by now, as it does once the owner is dead", async () => {
    const { source, asked, refreshes, topicOf } = useRefreshes();
    const topic = topicOf("a/1");
    topic.attach(new RecordingSink(), undefined);
    const done: string[] = [];
    refreshes.claim(topic, "one", () => done.push("a/1"));
    topic.goDirect();
    await nextTurn();
    source.refreshes[0]?.done();
    await nextTurn();
    expect([asked, done]).to.deep.equal([[], ["a/1"]]);
    topic.close();
    await refreshes.stop();
  });

  it("ends its own read of a topic that is forgotten", async () => {
    const { source, refreshes, topicOf, pass } = useRefreshes();
    const topic = topicOf("a/1");
    refreshes.claim(topic, "one", ignore);
    await pass(2_000);
    expect(source.watchCount).to.equal(1);
    refreshes.drop(topic);
    await nextTurn();
    expect(source.watchCount).to.equal(0);
    await refreshes.stop();
  });

  it("leaves no watch of what it asked the owner for when it was stopped", async () => {
    let fail: (reason: Error) => void = ignore;
    const { source, refreshes, topicOf } = useRefreshes(() => new Promise((_, reject) => (fail = reject)));
    refreshes.claim(topicOf("a/1"), "one", ignore);
    await nextTurn();
    const stopped = refreshes.stop();
    fail(new Error("the connection to Redis has ended"));
    await stopped;
    expect(source.watchCount).to.equal(0);
  });
});
