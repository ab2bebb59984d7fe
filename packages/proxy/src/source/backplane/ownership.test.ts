import type { Lease } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { Ownership } from "./ownership.js";
import { ReplicatedTopic } from "./replicated-topic.js";
import { TopicTable } from "./topic-table.js";

const ignore = (): void => undefined;
const lease: Lease = { holder: "this", fence: 7, untilMs: Infinity };

/** The ownership of a replica, and a source whose watches answer or fail when the test says so. */
function useOwnership() {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock);
  const redis = { isUsed: true, wanted: [] as TopicKey[] };
  const events: string[] = [];
  let written = (): void => undefined;
  const usesRedis = (): boolean => redis.isUsed;
  const topics: TopicTable = new TopicTable({
    create: (key) =>
      new ReplicatedTopic(key, {
        ...{ source, follower: { follow: ignore }, usesRedis, lease: () => ownership.lease },
        ...{ context: { clock, metrics: { backplaneRecordRefused: ignore } } },
        times: { answerMs: 7_000, freshMs: 45_000 },
        events: {
          onAnswered: ignore,
          onStale: ignore,
          onFollowed: ignore,
          onRefused: ignore,
          onRead: ignore,
        },
      }),
    onForgotten: ignore,
  });
  const ownership: Ownership = new Ownership({
    ...{ topics, usesRedis },
    context: {
      clock,
      logger: createLogger({ format: "json", debug: false }, { write: ignore }),
      metrics: { backplaneLease: (event) => events.push(event) },
    },
    keeper: {
      want: () => events.push("wanted"),
      drop: () => {
        events.push("dropped");
        return Promise.resolve();
      },
    },
    interest: { list: () => Promise.resolve(redis.wanted) },
    writer: { changed: ignore, settled: () => new Promise((resolve) => (written = resolve)) },
  });
  const happened = (): string[] => events.splice(0);
  return { clock, source, redis, topics, ownership, happened, written: () => written() };
}

describe("Ownership", () => {
  it("is wanted while Redis is relied on, and by a replica without subscribers as well: others may have some", () => {
    const { ownership, redis, happened } = useOwnership();
    ownership.want();
    expect(happened()).to.deep.equal(["wanted"]);
    redis.isUsed = false;
    ownership.want();
    expect(happened()).to.deep.equal(["dropped"]);
  });

  it("watches what others want, and keeps nothing of that once the lease is another's", async () => {
    const { ownership, redis, topics, source, happened } = useOwnership();
    redis.wanted = ["demo/one", "other/two"];
    await ownership.acquired(lease);
    expect([topics.size, source.watchCount]).to.deep.equal([2, 2]);
    redis.wanted = ["other/two"];
    await ownership.learnInterest();
    expect([...topics].map(({ key }) => key)).to.deep.equal(["other/two"]);
    ownership.lost();
    expect([topics.size, source.watchCount]).to.deep.equal([0, 0]);
    expect(ownership.wantedElsewhere("demo/three")).to.equal(undefined);
    expect(happened()).to.deep.equal(["taken", "lost", "wanted"]);
  });

  it("is given back after what is known was written under it, or its last edit would reach nobody until the next owner has read it", async () => {
    const { ownership, happened, written } = useOwnership();
    await ownership.acquired(lease);
    const released = ownership.release();
    await Promise.resolve();
    expect(happened()).to.deep.equal(["taken"]);
    written();
    await released;
    expect(happened()).to.deep.equal(["dropped"]);
    ownership.want();
    expect(happened()).to.deep.equal([]);
  });

  it("is taken anew where Redis refuses a write under the lease", async () => {
    const { ownership, happened } = useOwnership();
    await ownership.acquired(lease);
    await ownership.fenced();
    expect(ownership.lease).to.equal(undefined);
    expect(happened().at(-1)).to.equal("wanted");
  });

  it("is left to others once no watch of what exists can read, for 30 s or until one can", async () => {
    const { ownership, redis, source, clock, happened } = useOwnership();
    // One of them does not exist, and waits for its first read.
    redis.wanted = ["demo/one", "other/two", "other/guessed"];
    for (const key of ["demo/one", "other/two"] as const)
      source.publish(key, { flags: {} }, { resourceVersion: "1" });
    const fail = async (): Promise<void> => {
      await ownership.acquired(lease);
      source.stale("demo/one", new Error("the API server is away"));
      await ownership.cannotRead();
      expect(ownership.lease).to.equal(lease);
      source.stale("other/two", new Error("the API server is away"));
      await ownership.cannotRead();
      expect(ownership.lease).to.equal(undefined);
      expect(happened()).to.deep.equal(["taken", "given_up", "dropped"]);
    };
    await fail();
    clock.advance(29_999);
    ownership.want();
    expect(happened()).to.deep.equal(["dropped"]);
    clock.advance(1);
    ownership.want();
    expect(happened()).to.deep.equal(["wanted"]);
    await fail();
    ownership.canRead();
    expect(happened()).to.deep.equal(["wanted"]);
  });

  it("is left to others where nothing exists once no watch can read", async () => {
    const { ownership, redis, source } = useOwnership();
    redis.wanted = ["demo/one", "other/two"];
    await ownership.acquired(lease);
    source.stale("demo/one", new Error("the API server is away"));
    await ownership.cannotRead();
    expect(ownership.lease).to.equal(lease);
    source.stale("other/two", new Error("the API server is away"));
    await ownership.cannotRead();
    expect(ownership.lease).to.equal(undefined);
  });
});
