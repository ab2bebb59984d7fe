import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { FirstAnswer } from "./first-answer.js";

describe("FirstAnswer", () => {
  let clock: ManualClock;
  let answer: FirstAnswer;
  let late: number;
  let isArriving: boolean;
  const arrival = { goesOn: () => isArriving };
  beforeEach(() => {
    clock = new ManualClock();
    late = 0;
    isArriving = false;
    answer = new FirstAnswer(clock, 100, arrival, () => late++);
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

  it("is not late while an answer is arriving, and is once no more of it comes", () => {
    answer.wait();
    isArriving = true;
    clock.advance(1_000);
    expect(late).to.equal(0);
    isArriving = false;
    clock.advance(100);
    expect(late).to.equal(1);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is never late after something came, or after it was stopped, and leaves no timer", () => {
    answer.wait();
    answer.stop();
    answer.wait();
    const stopped = new FirstAnswer(clock, 100, arrival, () => late++);
    stopped.wait();
    stopped.stop();
    expect(clock.pendingTimers).to.equal(0);
    clock.advance(1_000);
    expect(late).to.equal(0);
  });
});
