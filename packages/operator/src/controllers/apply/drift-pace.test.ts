import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { DriftPace } from "./drift-pace.js";

describe("the pace of what is written again", () => {
  let clock: ManualClock;
  let pace: DriftPace;

  beforeEach(() => {
    clock = new ManualClock();
    pace = new DriftPace(clock);
  });

  function repair(key: string, times: number): void {
    for (let i = 0; i < times; i++) pace.wrote(key, "w");
  }
  const leftMs = (key: string): number => pace.leftMs(key, "w");

  it("allows five at once, and then one in half a minute, for each key by itself", () => {
    repair("a", 4);
    expect(leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(leftMs("a")).to.equal(30_000);
    expect(leftMs("b")).to.equal(0);
    clock.advance(29_000);
    expect(leftMs("a")).to.equal(1_000);
    clock.advance(1_000);
    expect(leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(leftMs("a")).to.equal(30_000);
  });

  it("allows five again after a quiet time", () => {
    repair("a", 5);
    clock.advance(150_000);
    repair("b", 1);
    repair("a", 4);
    expect(leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(leftMs("a")).to.equal(30_000);
  });

  it("holds up nothing that is wanted anew, and counts that for itself", () => {
    repair("a", 5);
    expect(pace.leftMs("a", "other")).to.equal(0);
    pace.wrote("a", "other");
    expect(pace.leftMs("a", "other")).to.equal(0);
    for (let i = 0; i < 4; i++) pace.wrote("a", "other");
    expect(pace.leftMs("a", "other")).to.equal(30_000);
  });
});
