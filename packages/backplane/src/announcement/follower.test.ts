import { setImmediate } from "node:timers/promises";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { BackplaneError } from "../backplane-error.js";
import { unlimitedRoom } from "../record/unlimited-room.fixture.js";
import { Follower, type FollowerSink } from "./follower.js";

describe("Follower", () => {
  let stop: () => Promise<void>;
  afterEach(() => stop());

  /** Follows until the test ends. */
  function run(follower: Follower): void {
    const abort = new AbortController();
    const running = follower.run(abort.signal);
    stop = async () => {
      abort.abort();
      await running;
    };
  }

  it("reports what there was no room for once there is, without an announcement, and does not read it before", async () => {
    const position = { epoch: 1, resourceVersion: "5" };
    let [hasRoom, reads] = [false, 0];
    const reported: string[] = [];
    const follower = new Follower({
      records: {
        positions: () =>
          Promise.resolve(new Map([["demo/flags", { ...position, confirmedAgoMs: 0, isAbsent: false }]])),
        read: () => {
          reads++;
          if (!hasRoom)
            return Promise.reject(
              new BackplaneError("RECORD_NO_ROOM", "no room", { neededBytes: 1_000_000 }),
            );
          const record = { topic: "demo/flags", kind: "missing", ...position } as const;
          return Promise.resolve({ record, fence: 1, confirmedAgoMs: 0 });
        },
      },
      room: { has: (bytes) => hasRoom && bytes === 1_000_000, freeBytes: 0 },
      compareMs: 600_000,
      clock: systemClock,
    });
    const sink: FollowerSink = {
      isUnconfirmed: false,
      record: ({ record }) => reported.push(record.resourceVersion) > 0,
      confirmed: () => reported.push("confirmed"),
      absent: () => reported.push("absent"),
      refused: ({ code }) => reported.push(code),
    };
    const compare = async (): Promise<void> => {
      follower.compare();
      await setImmediate();
    };
    run(follower);
    follower.follow("demo/flags", sink, new AbortController().signal);
    await setImmediate();
    await compare();
    await compare();
    expect([reported, reads]).to.deep.equal([["RECORD_NO_ROOM"], 1]);
    hasRoom = true;
    await compare();
    await compare();
    expect(reported).to.deep.equal(["RECORD_NO_ROOM", "5", "confirmed"]);
  });

  it("compares once more after a comparison during which another was asked for: what came meanwhile may not be in it", async () => {
    const answers: (() => void)[] = [];
    const follower = new Follower({
      records: {
        positions: () => new Promise((resolve) => answers.push(() => resolve(new Map()))),
        read: () => Promise.resolve(undefined),
      },
      room: unlimitedRoom,
      compareMs: 600_000,
      clock: systemClock,
    });
    run(follower);
    await setImmediate();
    follower.compare();
    follower.compare();
    await setImmediate();
    expect(answers).to.have.length(1);
    answers[0]?.();
    await setImmediate();
    expect(answers).to.have.length(2);
    answers[1]?.();
    await setImmediate();
    expect(answers).to.have.length(2);
  });

  it("looks for the confirmation of a record that could not be used, once it can", async () => {
    const position = { epoch: 1, resourceVersion: "5" };
    let isUsable = false;
    const reported: string[] = [];
    const follower = new Follower({
      records: {
        positions: () =>
          Promise.resolve(new Map([["demo/flags", { ...position, confirmedAgoMs: 0, isAbsent: false }]])),
        read: () => {
          if (!isUsable) return Promise.reject(new BackplaneError("RECORD_MALFORMED", "no record"));
          const record = { topic: "demo/flags", kind: "missing", ...position } as const;
          return Promise.resolve({ record, fence: 1, confirmedAgoMs: 0 });
        },
      },
      room: unlimitedRoom,
      compareMs: 600_000,
      clock: systemClock,
    });
    const sink: FollowerSink = {
      isUnconfirmed: true,
      record: ({ record }) => reported.push(record.resourceVersion) > 0,
      confirmed: () => reported.push("confirmed"),
      absent: () => reported.push("absent"),
      refused: ({ code }) => reported.push(code),
    };
    run(follower);
    follower.follow("demo/flags", sink, new AbortController().signal);
    await setImmediate();
    await follower.compareUnconfirmed();
    isUsable = true;
    follower.announced("demo/flags", position);
    await setImmediate();
    await follower.compareUnconfirmed();
    expect(reported).to.deep.equal(["RECORD_MALFORMED", "5", "confirmed"]);
  });

  it("reads what is announced of an earlier epoch than it reported, but not what is announced late", async () => {
    let reads = 0;
    const reported: string[] = [];
    const follower = new Follower({
      records: {
        positions: () => Promise.resolve(new Map()),
        read: () => {
          reads++;
          const record = { topic: "demo/flags", kind: "missing", epoch: 7, resourceVersion: "5" } as const;
          return Promise.resolve({ record, fence: 7, confirmedAgoMs: 0 });
        },
      },
      room: unlimitedRoom,
      compareMs: 600_000,
      clock: systemClock,
    });
    const sink: FollowerSink = {
      isUnconfirmed: false,
      record: ({ record }) => reported.push(record.resourceVersion) > 0,
      confirmed: (_, { epoch }) => reported.push(`confirmed in ${epoch}`),
      absent: () => undefined,
      refused: ({ code }) => reported.push(code),
    };
    run(follower);
    follower.follow("demo/flags", sink, new AbortController().signal);
    await setImmediate();
    follower.announced("demo/flags", { epoch: 7, resourceVersion: "4" });
    await setImmediate();
    expect(reads).to.equal(1);
    follower.announced("demo/flags", { epoch: 6, resourceVersion: "6" });
    await setImmediate();
    expect([reads, ...reported]).to.deep.equal([2, "5", "confirmed in 7"]);
  });
});
