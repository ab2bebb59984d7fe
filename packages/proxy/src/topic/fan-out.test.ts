import { expect } from "chai";
import { FanOut, type Pass } from "./fan-out.js";

/** A fan-out whose turns are run one by one by the test. */
function useFanOut(stepsPerTurn: number): { fanOut: FanOut; turn: () => boolean } {
  const turns: (() => void)[] = [];
  const fanOut = new FanOut({ stepsPerTurn, nextTurn: (callback) => turns.push(callback) });
  const turn = (): boolean => {
    expect(turns.length).to.be.at.most(1);
    const callback = turns.shift();
    callback?.();
    return callback !== undefined;
  };
  return { fanOut, turn };
}

function countedPass(steps: number, log: string[], name: string): Pass {
  let left = steps;
  return {
    step: () => {
      if (left === 0) return false;
      left--;
      log.push(name);
      return true;
    },
  };
}

describe("the fan-out", () => {
  it("does a short pass within the turn that began it", () => {
    const log: string[] = [];
    const { fanOut } = useFanOut(256);
    fanOut.begin(countedPass(256, log, "a"));
    expect(log).to.have.length(256);
  });

  it("does no step of what is begun while it is held, and then all of it, also if the work fails", () => {
    const log: string[] = [];
    const { fanOut } = useFanOut(256);
    const work = (): void => {
      fanOut.begin(countedPass(2, log, "a"));
      fanOut.begin(countedPass(1, log, "b"));
      expect(log).to.deep.equal([]);
    };
    fanOut.hold(work);
    expect(log).to.deep.equal(["a", "a", "b"]);
    const fails = (): never => {
      fanOut.begin(countedPass(1, log, "c"));
      throw new Error("it fails");
    };
    expect(() => fanOut.hold(fails)).to.throw("it fails");
    expect(log).to.deep.equal(["a", "a", "b", "c"]);
  });

  it("limits the steps of a turn for all passes together", () => {
    const log: string[] = [];
    const { fanOut, turn } = useFanOut(256);
    for (let i = 0; i < 200; i++) fanOut.begin(countedPass(10, log, String(i)));
    expect(log).to.have.length(256);
    turn();
    expect(log).to.have.length(512);
    while (turn());
    expect(log).to.have.length(2_000);
  });

  it("lets a short pass by while a long one is under way", () => {
    const log: string[] = [];
    const { fanOut, turn } = useFanOut(4);
    fanOut.begin(countedPass(100, log, "long"));
    fanOut.begin(countedPass(2, log, "short"));
    expect(log.join(" ")).to.equal("long long long long");
    turn();
    expect(log.slice(4).join(" ")).to.equal("short short long long");
    while (turn());
    expect(log).to.have.length(102);
  });

  it("does a pass that is begun by a step of another", () => {
    const log: string[] = [];
    const { fanOut, turn } = useFanOut(4);
    const second = countedPass(1, log, "second");
    const first = countedPass(2, log, "first");
    let isBegun = false;
    fanOut.begin({
      step: () => {
        if (!isBegun) fanOut.begin(second);
        isBegun = true;
        return first.step();
      },
    });
    while (turn());
    expect(log).to.deep.equal(["first", "first", "second"]);
  });

  it("continues with the other passes after a step that threw", () => {
    const log: string[] = [];
    const { fanOut, turn } = useFanOut(4);
    let hasThrown = false;
    const faulty: Pass = {
      step: () => {
        if (hasThrown) return false;
        hasThrown = true;
        throw new Error("a fault of ours");
      },
    };
    expect(() => fanOut.begin(faulty)).to.throw("a fault of ours");
    fanOut.begin(countedPass(3, log, "other"));
    while (turn());
    expect(log).to.deep.equal(["other", "other", "other"]);
  });
});
