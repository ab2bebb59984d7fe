import type { Lease } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import { OwnershipLeases } from "./ownership-leases.js";
import { OwnershipUnits } from "./ownership-units.js";

const ignore = (): void => undefined;
const later = (): Promise<never> => new Promise(ignore);

describe("OwnershipUnits", () => {
  it("take on no more topics for others than a replica may have in all of them together: names that are planted in Redis may be of many namespaces", () => {
    const clock = new ManualClock();
    const shared: ReplicatedShared<ReplicatedTopic> = {
      ...{ source: new ScriptedSource(clock), follower: { follow: ignore } },
      ...{
        context: { clock, metrics: { backplaneRecordRefused: ignore } },
        times: { answerMs: 7_000, freshMs: 45_000 },
      },
      ...{
        usesRedis: () => true,
        events: { onAnswered: ignore, onStale: ignore, onFollowed: ignore, onRefused: ignore },
      },
    };
    const emptied: string[] = [];
    const forgotten: string[] = [];
    const units = new OwnershipUnits({
      isClusterWide: false,
      onEmpty: ({ name }) => void emptied.push(name),
      onForgotten: (topic) => void forgotten.push(topic),
    });
    const leases = new OwnershipLeases({
      ...{ units, shared, maxTopics: 3, leaseMs: 5_000, replica: "this" },
      context: {
        clock,
        logger: createLogger({ format: "json", debug: false }, { write: ignore }),
        metrics: { backplaneLease: ignore },
      },
      ...{ leases: { handOver: later }, keeper: { want: ignore, drop: later }, interest: { list: later } },
      ...{ membership: { members: undefined }, writer: { changed: ignore, settled: later } },
    });
    for (const name of ["namespace/a", "namespace/b"]) {
      const lease: Lease = { name, holder: "this", fence: 1, untilMs: Infinity };
      units.unit(name).setLease(lease);
    }
    const wanted: readonly TopicKey[] = ["a/1", "a/2", "b/1", "b/2", "a/3", "a/1"];
    const taken = wanted.map((key) => leases.wantedElsewhere(key)?.key);
    expect(taken).to.deep.equal(["a/1", "a/2", "b/1", undefined, undefined, "a/1"]);

    for (const topic of [...units.topics()]) {
      topic.isWantedElsewhere = false;
      units.forgetIdle(topic);
    }
    expect(forgotten).to.deep.equal(["a/1", "a/2", "b/1"]);
    expect(emptied).to.deep.equal(["namespace/a", "namespace/b"]);
    expect(units.size).to.equal(0);
  });
});
