import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { confirmAfterMs } from "../reflector/confirm-after.js";
import type { KubeObject } from "../rest/resource.js";
import { ObjectTracker, type AbsenceVerdict, type OfferVerdict } from "./object-tracker.js";

describe("ObjectTracker", () => {
  let clock: ManualClock;
  let tracker: ObjectTracker;

  beforeEach(() => {
    clock = new ManualClock();
    tracker = new ObjectTracker(clock);
  });

  function object(generation: number | undefined, uid = "u1"): KubeObject {
    return {
      metadata: {
        name: "a",
        ...(generation === undefined ? {} : { generation }),
        uid,
      },
    };
  }

  const live = (version: number, each = object(version), epoch = 1): OfferVerdict =>
    tracker.offer(each, String(version), epoch, true);
  const read = (version: number, each = object(version), epoch = 1): OfferVerdict =>
    tracker.offer(each, String(version), epoch, false);
  const absent = (version: number, epoch = 1): AbsenceVerdict =>
    tracker.absent(String(version), epoch, clock.monotonicMs());

  it("takes each version once, from whatever stream, and none that is older", () => {
    expect(tracker.existence).to.equal("unknown");
    expect([live(5), live(5), read(5), live(4), live(6)]).to.deep.equal([
      "changed",
      "known",
      "known",
      "older",
      "changed",
    ]);
    expect([tracker.existence, tracker.resourceVersionIn(1), tracker.resourceVersionIn(2)]).to.deep.equal([
      ...["exists", "6", undefined],
    ]);
  });

  it("takes the spec for the same only where a live event has the uid and the generation of before", () => {
    expect(read(1, object(7))).to.equal("changed");
    expect(live(2, object(7))).to.equal("sameSpec");
    expect(live(3, object(8))).to.equal("changed");
    expect(live(4, object(8, "u2"))).to.equal("changed");
    expect(read(5, object(8, "u2")), "a read").to.equal("changed");
    expect(live(6, object(8, "u2"), 2), "another epoch").to.equal("changed");
    expect([live(7, object(undefined), 2), live(8, object(undefined), 2)]).to.deep.equal([
      "changed",
      "changed",
    ]);
    const nameless = { metadata: { name: "a", generation: 1 } };
    expect([live(9, nameless, 2), live(10, nameless, 2)]).to.deep.equal(["changed", "changed"]);
  });

  it("takes lower versions of a new epoch, and none of an old one", () => {
    live(50);
    expect([live(3, object(1), 2), live(60, object(1), 1)]).to.deep.equal(["changed", "older"]);
  });

  it("calls an object deleted when a read confirms it that began late enough", () => {
    live(5);
    expect([tracker.gone("6", 1), tracker.gone("7", 1)]).to.deep.equal([true, false]);
    expect([tracker.existence, tracker.goneSinceMs]).to.deep.equal(["exists", clock.monotonicMs()]);
    clock.advance(confirmAfterMs - 1);
    expect(absent(8)).to.equal("unconfirmed");
    clock.advance(1);
    expect([absent(8), tracker.existence, tracker.goneSinceMs]).to.deep.equal([
      "deleted",
      "absent",
      undefined,
    ]);
    expect([absent(9), absent(7)]).to.deep.equal(["absent", "older"]);
  });

  it("needs a second read also where a read is the first to miss it", () => {
    live(5);
    expect(absent(6)).to.equal("unconfirmed");
    clock.advance(confirmAfterMs);
    expect(absent(6)).to.equal("deleted");
  });

  it("forgets that it seemed gone when it comes back, and asks for the whole time once more", () => {
    live(5);
    tracker.gone("6", 1);
    clock.advance(confirmAfterMs);
    expect([live(7), tracker.goneSinceMs]).to.deep.equal(["changed", undefined]);
    expect(absent(8)).to.equal("unconfirmed");
  });

  it("is there as long as a stream reports the version that a read has missed", () => {
    live(5);
    expect(absent(5)).to.equal("unconfirmed");
    expect([live(5), tracker.goneSinceMs, tracker.existence]).to.deep.equal(["known", undefined, "exists"]);
  });

  it("is not brought back by late events of before its deletion", () => {
    live(5);
    tracker.gone("9", 1);
    expect([live(8), tracker.goneSinceMs]).to.deep.equal(["older", clock.monotonicMs()]);
    clock.advance(confirmAfterMs);
    absent(10);
    expect([live(9), tracker.gone("11", 1), tracker.existence]).to.deep.equal(["older", false, "absent"]);
    expect([live(12), tracker.existence]).to.deep.equal(["changed", "exists"]);
  });

  it("takes a spec for another one after a deletion, whatever the generation", () => {
    live(5, object(1));
    tracker.gone("6", 1);
    clock.advance(confirmAfterMs);
    absent(7);
    expect(live(8, object(1))).to.equal("changed");
  });

  it("knows an object that was never there as absent", () => {
    expect([absent(1), tracker.existence]).to.deep.equal(["absent", "absent"]);
    expect(tracker.gone("2", 1)).to.equal(false);
  });
});
