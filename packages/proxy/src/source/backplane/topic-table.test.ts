import type { TopicKey } from "@bunting/protocol";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { remoteKeyOf } from "../remote/remote-key.js";
import { ReplicatedTopic } from "./replicated-topic.js";
import { TopicTable } from "./topic-table.js";

const ignore = (): void => undefined;

/** With the events of ReplicatedTopics. */
function useTable(maxTopics: number) {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock, false);
  const forgotten: TopicKey[] = [];
  const table: TopicTable = new TopicTable({
    create: (key) =>
      new ReplicatedTopic(key, {
        ...{ source, follower: { follow: ignore } },
        ...{ usesRedis: () => false, lease: () => undefined },
        ...{ context: { clock, metrics: { backplaneRecordRefused: ignore } } },
        times: { answerMs: 7_000, freshMs: 45_000 },
        events: {
          ...{ onAnswered: ignore, onStale: ignore, onFollowed: ignore, onRefused: ignore },
          onRead: (topic) => table.forgetIdle(topic),
        },
      }),
    onForgotten: ({ key }) => void forgotten.push(key),
    maxTopics,
  });
  return { table, forgotten, source };
}

describe("TopicTable", () => {
  it("takes on no more topics for others than it may have, but all that have subscribers here", () => {
    const { table, forgotten } = useTable(3);
    const wanted: readonly TopicKey[] = ["a/1", "a/2", "b/1", "b/2", "a/3", "a/1"];
    const taken = wanted.map((key) => table.topicForOthers(key)?.key);
    expect(taken).to.deep.equal(["a/1", "a/2", "b/1", undefined, undefined, "a/1"]);
    expect(table.topic("c/1").key).to.equal("c/1");
    for (const topic of table) table.forgetIdle(topic);
    expect(forgotten).to.deep.equal(["a/1", "a/2", "b/1", "c/1"]);
    expect(table.size).to.equal(0);
  });

  it("forgets a topic whose last subscriber left during a read, once that has ended or is given up", () => {
    const { table, forgotten, source } = useTable(3);
    const leave = (key: TopicKey): (() => void) => {
      const topic = table.topic(key);
      topic.attach({ report: ignore }, undefined);
      const giveUp = topic.refresh(ignore, undefined);
      topic.detach();
      table.forgetIdle(topic);
      return giveUp;
    };
    leave("a/1");
    const giveUp = leave("a/2");
    expect(forgotten).to.deep.equal([]);
    source.refreshes[0]?.done();
    giveUp();
    expect(forgotten).to.deep.equal(["a/1", "a/2"]);
    expect(table.size).to.equal(0);
  });

  it("can read nothing if it can't read the cluster, whatever remotes say", () => {
    const { table, source } = useTable(3);
    const remote = remoteKeyOf("a/1", { type: "http", uri: "https://flags.test" });
    for (const key of ["a/1", remote] as const) {
      table.topic(key).attach({ report: ignore }, undefined);
      source.publish(key, { flags: {} });
    }
    expect(table.cannotRead).to.equal(false);
    source.stale("a/1", new Error("the API server is away"));
    expect(table.cannotRead).to.equal(true);
    source.publish("a/1", { flags: {} });
    source.stale(remote, new Error("the remote is away"));
    expect(table.cannotRead).to.equal(false);
    for (const topic of table) topic.close();
  });

  it("takes on nothing that is no topic, whatever other programs write to Redis", () => {
    const { table } = useTable(3);
    for (const key of [
      "",
      "flags",
      "a/b/c",
      "A/flags",
      "a/",
      "/flags",
      "a/b?watch=1",
      `a/${"x".repeat(254)}`,
    ])
      expect(table.topicForOthers(key), key).to.equal(undefined);
    expect(table.size).to.equal(0);
  });
});
