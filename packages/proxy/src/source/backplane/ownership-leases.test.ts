import type { Lease } from "@bunting/backplane";
import { createLogger } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ScriptedSource } from "@bunting/test/support/scripted-source.js";
import { expect } from "chai";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import { OwnershipLeases } from "./ownership-leases.js";
import { OwnershipUnits } from "./ownership-units.js";

const ignore = (): void => undefined;
const lease: Lease = { name: "namespace/demo", holder: "this", fence: 7, untilMs: Infinity };

/** The leases of a replica that owns a namespace, and whose writes end when the test says so. */
function useLeases() {
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
  const units = new OwnershipUnits({ isClusterWide: false, onEmpty: ignore, onForgotten: ignore });
  const events: string[] = [];
  const happened = (event: string): Promise<void> => {
    events.push(event);
    return Promise.resolve();
  };
  let written = (): void => undefined;
  const leases = new OwnershipLeases({
    ...{ units, shared, leaseMs: 5_000, replica: "this" },
    context: {
      clock,
      logger: createLogger({ format: "json", debug: false }, { write: ignore }),
      metrics: { backplaneLease: ignore },
    },
    leases: { handOver: (_, by) => happened(`handed over to ${by}`).then(() => true) },
    keeper: { want: ignore, drop: (name) => happened(`dropped ${name}`) },
    membership: { members: undefined },
    interest: { list: () => Promise.resolve([]) },
    writer: { changed: ignore, settled: () => new Promise((resolve) => (written = resolve)) },
  });
  units.unit(lease.name).setLease(lease);
  return { clock, leases, units, events, written: () => written() };
}

describe("OwnershipLeases", () => {
  it("give a lease back after what is known was written under it, or its last edit would reach nobody until the next owner has read it", async () => {
    const { leases, events, written, clock } = useLeases();
    const given = leases.releaseAll();
    clock.advance(4_999);
    await Promise.resolve();
    expect(events).to.deep.equal([]);
    written();
    await given;
    expect(events).to.deep.equal(["dropped namespace/demo"]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("wait for a Redis that does not take what is written no longer than the lease lasts", async () => {
    const { leases, events, clock } = useLeases();
    const given = leases.releaseAll();
    clock.advance(5_000);
    await given;
    expect(events).to.deep.equal(["dropped namespace/demo"]);
  });

  it("hand a lease over after what is known was written under it", async () => {
    const { leases, events, written } = useLeases();
    const handed = leases.handOver(lease, "other");
    await Promise.resolve();
    expect(events).to.deep.equal([]);
    written();
    await handed;
    expect(events.slice(0, 2)).to.deep.equal(["handed over to other", "dropped namespace/demo"]);
  });

  it("keep nothing of what others want once the lease is another's: they watch it", () => {
    const { leases, units } = useLeases();
    for (const key of ["demo/one", "demo/two"] as const) leases.wantedElsewhere(key);
    expect(units.size).to.equal(2);
    leases.lost(lease.name);
    expect([units.size, ...units]).to.deep.equal([0]);
  });
});
