import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { noMetrics } from "../proxy-metrics.js";
import { Convergence } from "./convergence.js";

describe("Convergence", () => {
  function useConvergence(): {
    clock: ManualClock;
    convergence: Convergence;
    reached: [number, number][];
    ends: number[];
  } {
    const clock = new ManualClock();
    const reached: [number, number][] = [];
    const ends: number[] = [];
    const metrics = {
      ...noMetrics,
      converged: (share: number, ms: number) => void reached.push([share, ms]),
    };
    const convergence = new Convergence(clock, metrics, ({ arrived }) => ends.push(arrived));
    return { clock, convergence, reached, ends };
  }

  it("reports when half, 99 % and all have a version", () => {
    const { clock, convergence, reached, ends } = useConvergence();
    convergence.begin(clock.monotonicMs(), 200);
    for (let subscriber = 1; subscriber <= 200; subscriber++) {
      clock.advance(1);
      convergence.caughtUp();
    }
    expect(reached).to.deep.equal([
      [0.5, 100],
      [0.99, 198],
      [1, 200],
    ]);
    expect(ends).to.deep.equal([200]);
    expect(convergence).to.include({ arrived: 200, behind: 0 });
  });

  it("counts what the source knew long before anybody subscribed from when the topic began", () => {
    const clock = new ManualClock();
    const noticedMs = clock.monotonicMs();
    clock.advance(3_600_000);
    const convergence = new Convergence(clock, noMetrics);
    clock.advance(2);
    convergence.begin(noticedMs, 1);
    clock.advance(1);
    convergence.caughtUp();
    expect(convergence.afterMs.get(1)).to.equal(3);
  });

  it("counts the subscribers that stayed, and takes the time of the last arrival", () => {
    const { clock, convergence, reached, ends } = useConvergence();
    convergence.begin(clock.monotonicMs(), 3);
    clock.advance(1);
    convergence.caughtUp();
    expect(reached).to.deep.equal([]);
    clock.advance(100);
    convergence.leave();
    expect(reached).to.deep.equal([[0.5, 1]]);
    convergence.leave();
    expect(reached.at(-1)).to.deep.equal([1, 1]);
    expect(ends).to.deep.equal([1]);
  });

  it("reports nothing for a version without subscribers, or whose subscribers all left", () => {
    const { convergence, reached, ends } = useConvergence();
    convergence.begin(0, 0);
    convergence.begin(0, 1);
    convergence.leave();
    convergence.begin(0, 5);
    convergence.abandon();
    convergence.leave();
    expect(convergence.behind).to.equal(0);
    expect(reached).to.deep.equal([]);
    expect(ends).to.deep.equal([]);
  });

  it("stops measuring a version when a newer one is published", () => {
    const { clock, convergence, reached } = useConvergence();
    convergence.begin(clock.monotonicMs(), 2);
    convergence.caughtUp();
    convergence.begin(clock.monotonicMs(), 2);
    expect(convergence.afterMs.size).to.equal(0);
    expect(reached).to.deep.equal([[0.5, 0]]);
  });
});
