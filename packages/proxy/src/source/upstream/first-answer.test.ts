import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { FirstAnswer } from "./first-answer.js";

describe("FirstAnswer", () => {
  let clock: ManualClock;
  let answer: FirstAnswer;
  let late: number;
  beforeEach(() => {
    clock = new ManualClock();
    late = 0;
    answer = new FirstAnswer(clock, 100, () => late++);
  });

  it("is late once the time after the first question is over, and after that of each question that follows", () => {
    clock.advance(1_000);
    answer.wait();
    clock.advance(60);
    answer.wait();
    expect(late).to.equal(0);
    clock.advance(40);
    expect(late).to.equal(1);
    answer.wait();
    clock.advance(100);
    expect(late).to.equal(2);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is never late after something came, or after it was stopped, and leaves no timer", () => {
    answer.wait();
    answer.stop();
    answer.wait();
    const stopped = new FirstAnswer(clock, 100, () => late++);
    stopped.wait();
    stopped.stop();
    expect(clock.pendingTimers).to.equal(0);
    clock.advance(1_000);
    expect(late).to.equal(0);
  });
});
