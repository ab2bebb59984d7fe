import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { DriftPace } from "./drift-pace.js";

describe("the pace of repairs", () => {
  let clock: ManualClock;
  let pace: DriftPace;

  beforeEach(() => {
    clock = new ManualClock();
    pace = new DriftPace(clock);
  });

  function repair(key: string, times: number): void {
    for (let i = 0; i < times; i++) pace.repaired(key);
  }

  it("allows five at once, and then one in half a minute, for each key by itself", () => {
    repair("a", 4);
    expect(pace.leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(pace.leftMs("a")).to.equal(30_000);
    expect(pace.leftMs("b")).to.equal(0);
    clock.advance(29_000);
    expect(pace.leftMs("a")).to.equal(1_000);
    clock.advance(1_000);
    expect(pace.leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(pace.leftMs("a")).to.equal(30_000);
  });

  it("allows five again after a quiet time", () => {
    repair("a", 5);
    clock.advance(150_000);
    repair("b", 1);
    repair("a", 4);
    expect(pace.leftMs("a")).to.equal(0);
    repair("a", 1);
    expect(pace.leftMs("a")).to.equal(30_000);
  });
});
