import { BackplaneError, type Lease, type Records, type StoredRecord } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { nextTurn, systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import { RecordingSink } from "../source.fixture.js";
import { documentOf } from "./backplane.fixture.js";
import { RecordWriter } from "./record-writer.js";
import { ReplicatedTopic } from "./replicated-topic.js";

const key = "demo/flags";
const lease: Lease = { holder: "replica", fence: 7, untilMs: Infinity };

let stop: () => Promise<void>;

/** The writer of a replica that owns topics, and a Redis that answers each write when it is told to. */
function useWriter() {
  const clock = new ManualClock();
  const source = new ScriptedSource(clock);
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  /** What Redis does not do by itself. */
  const redis = {
    holdsTheSame: false,
    holdsNewer: false,
    isUp: true,
    reads: 0,
    stored: undefined as StoredRecord | undefined,
    onConfirm: (): void => undefined,
  };
  const records: Pick<Records, "write" | "confirm" | "read"> = {
    write: ({ resourceVersion }) => {
      written.push(resourceVersion);
      if (redis.holdsNewer) {
        redis.holdsNewer = false;
        return Promise.reject(new BackplaneError("VERSION_OLDER", "Redis holds a newer one"));
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    confirm: async (confirmed) => {
      redis.onConfirm();
      await nextTurn();
      if (!redis.isUp) throw new BackplaneError("REDIS_TIMEOUT", "Redis does not answer");
      return redis.holdsTheSame ? [] : confirmed.map(({ topic }) => topic);
    },
    read: async () => {
      redis.reads++;
      await nextTurn();
      return redis.stored;
    },
  };
  const ignore = (): void => undefined;
  const failures: Error[] = [];
  const keeper = { held: lease as Lease | undefined };
  const writer = new RecordWriter({
    records,
    keeper,
    context: { clock: systemClock, metrics: { backplaneWritten: ignore, backplaneWriteFailed: ignore } },
    onFenced: ignore,
    onFailed: (_, error) => failures.push(error),
  });
  const abort = new AbortController();
  const running = writer.run(abort.signal);
  stop = async () => {
    abort.abort();
    for (const answer of waiting) answer();
    await running;
  };
  const topicOf = (topicKey: TopicKey): ReplicatedTopic => {
    const created = new ReplicatedTopic(topicKey, {
      ...{
        source,
        context: { clock, metrics: { backplaneRecordRefused: ignore } },
        follower: { follow: ignore },
      },
      ...{ usesRedis: () => true, lease: () => lease, times: { answerMs: 7_000, freshMs: 45_000 } },
      events: {
        onAnswered: (answered) => queueMicrotask(() => writer.changed(answered)),
        ...{ onStale: ignore, onFollowed: ignore, onRefused: ignore, onRead: ignore },
      },
    });
    created.attach(new RecordingSink(), undefined);
    return created;
  };
  const topic = topicOf(key);
  const change = (resourceVersion: string): void => {
    source.publish(key, documentOf(resourceVersion), { resourceVersion });
    writer.changed(topic);
  };
  const answer = async (resourceVersion: string): Promise<void> => {
    await eventually(() => written.at(-1) === resourceVersion && waiting.length > 0, resourceVersion);
    waiting.shift()?.();
  };
  const answerAll = (): void => {
    for (const write of waiting.splice(0)) write();
  };
  /** Topics, each with a version that Redis does not hold. */
  const changeMany = (names: readonly string[]): void => {
    for (const name of names) {
      const changed = topicOf(`${name}/flags`);
      source.publish(changed.key, documentOf(name), { resourceVersion: name });
      writer.changed(changed);
    }
  };
  const changeFour = (): void => changeMany(["a", "b", "c", "d"]);
  return {
    writer,
    keeper,
    topic,
    written,
    failures,
    redis,
    change,
    answer,
    answerAll,
    changeMany,
    changeFour,
  };
}

describe("RecordWriter", () => {
  afterEach(() => stop());

  it("writes what changes meanwhile once, and the newest", async () => {
    const { written, change, answer } = useWriter();
    change("1");
    await eventually(() => written.length === 1, "the first write");
    change("2");
    change("3");
    await answer("1");
    await answer("3");
    expect(written).to.deep.equal(["1", "3"]);
  });

  it("settles once what is known is written, although changes go on", async () => {
    const { writer, written, change, answer, failures } = useWriter();
    change("1");
    await eventually(() => written.length === 1, "the first write");
    change("2");
    const settling = { isOver: false };
    const settled = writer.settled().then(() => (settling.isOver = true));
    await answer("1");
    await eventually(() => written.length === 2, "the second write");
    expect(settling.isOver).to.equal(false);
    for (let version = 3; !settling.isOver && version < 9; version++) {
      change(String(version));
      await answer(String(version - 1));
      await eventually(() => settling.isOver || written.at(-1) === String(version), "the next");
    }
    await settled;
    expect(written.length).to.be.within(2, 5);
    expect(failures).to.deep.equal([]);
  });

  it("reads what Redis holds before it writes again what is older than that", async () => {
    const { written, redis, change, answer } = useWriter();
    redis.holdsNewer = true;
    change("1");
    await eventually(() => written.length === 2, "another write");
    expect(redis.reads).to.equal(2);
    await answer("1");
  });

  it("writes once what it places after an older record that it has read, as at a take-over", async () => {
    const { writer, written, redis, change, answer } = useWriter();
    const record = { topic: key, kind: "missing", epoch: 3, resourceVersion: "1" } as const;
    redis.stored = { record, fence: 3, confirmedAgoMs: 0 };
    change("2");
    await answer("2");
    await writer.settled();
    expect([written, redis.reads]).to.deep.equal([["2"], 1]);
  });

  it("announces a version once more for who asks, and once", async () => {
    const { writer, topic, written, redis, change, answer } = useWriter();
    change("1");
    await answer("1");
    await writer.settled();
    redis.holdsTheSame = true;
    topic.isAsked = true;
    writer.confirm([topic]);
    await eventually(() => written.length === 2, "the announcement");
    await answer("1");
    await writer.settled();
    writer.confirm([topic]);
    await writer.settled();
    expect(written).to.deep.equal(["1", "1"]);
  });

  it("settles once all topics are written", async () => {
    const { writer, written, answerAll, changeFour } = useWriter();
    changeFour();
    const settling = { isOver: false };
    const settled = writer.settled().then(() => (settling.isOver = true));
    for (const name of ["a", "b", "c", "d"]) {
      await eventually(() => written.includes(name), `the write of ${name}`);
      expect(settling.isOver, `before ${name} is written`).to.equal(false);
    }
    answerAll();
    await settled;
  });

  it("writes so many at once that the last ones do not time out: a take-over brings all topics", async () => {
    const { written, answerAll, change, changeMany } = useWriter();
    changeMany(Array.from({ length: 200 }, (_, index) => `t${index}`));
    await eventually(() => written.length === 64, "the first writes");
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(written).to.have.length(64);
    answerAll();
    await eventually(() => written.length === 128, "the next ones");
    change("1");
    for (const count of [192, 201]) {
      answerAll();
      await eventually(() => written.length === count, `${count} writes`);
    }
    expect(new Set(written).size).to.equal(201);
  });

  it("settles once no topic can be written", async () => {
    const { writer, redis, failures, changeFour } = useWriter();
    redis.isUp = false;
    changeFour();
    await writer.settled();
    // One command has failed for all of them.
    expect(failures).to.have.length(1);
  });

  it("settles what was compared although it has changed, or is asked for, when the lease has ended meanwhile", async () => {
    for (const isAsked of [false, true]) {
      const { writer, keeper, topic, redis, change } = useWriter();
      redis.holdsTheSame = true;
      change("1");
      const settling = { isOver: false };
      void writer.settled().then(() => (settling.isOver = true));
      redis.onConfirm = () => {
        keeper.held = undefined;
        if (isAsked) topic.isAsked = true;
        else change("2");
      };
      await eventually(() => settling.isOver, `the end, with isAsked ${isAsked}`);
      await stop();
    }
  });

  it("settles once a state is written that followed the one of its call, although another follows", async () => {
    const { writer, written, change, answer } = useWriter();
    change("1");
    await eventually(() => written.length === 1, "the first write");
    change("2");
    const settled = writer.settled();
    change("3");
    await answer("1");
    await eventually(() => written.at(-1) === "3", "the second write");
    change("4");
    await answer("3");
    await settled;
    await answer("4");
  });

  it("settles at once when nothing is written any more", async () => {
    const { writer, change } = useWriter();
    await stop();
    change("1");
    await writer.settled();
  });

  it("settles what it has begun to write when it ends", async () => {
    const { writer, written, change } = useWriter();
    change("1");
    await eventually(() => written.length === 1, "the first write");
    change("2");
    const settled = writer.settled();
    await stop();
    await settled;
    expect(written).to.deep.equal(["1"]);
  });
});
