import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { FirstAnswers } from "./first-answers.js";

interface Held {
  readonly answers: FirstAnswers;
  readonly clock: ManualClock;
  readonly abort: AbortController;
  readonly isOver: () => Promise<boolean>;
}

/** The component of two sources, started. */
function start(abort = new AbortController()): Held {
  const answers = new FirstAnswers([{ uri: "a" }, { uri: "b" }]);
  const clock = new ManualClock();
  let isOver = false;
  const started = answers.component(clock).start(() => undefined, abort.signal);
  void started.then(() => (isOver = true));
  return { answers, clock, abort, isOver: () => Promise.resolve().then(() => isOver) };
}

describe("FirstAnswers", () => {
  it("hold the ports back until every source has answered", async () => {
    const { answers, clock, isOver } = start();
    expect(answers.answered(1)).to.equal(true);
    expect(answers.answered(1), "again").to.equal(false);
    expect([answers.isComplete, await isOver()]).to.deep.equal([false, false]);
    expect([...answers.awaited()]).to.deep.equal([[0, "a"]]);
    answers.answered(0);
    expect([answers.isComplete, await isOver()]).to.deep.equal([true, true]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("hold them for two seconds at most", async () => {
    const { answers, clock, isOver } = start();
    clock.advance(1_999);
    expect(await isOver()).to.equal(false);
    clock.advance(1);
    expect(await isOver()).to.equal(true);
    expect(answers.isComplete).to.equal(false);
    expect(answers.answered(0)).to.equal(true);
  });

  it("hold nothing back that is to stop", async () => {
    const { clock, abort, isOver } = start();
    abort.abort();
    expect(await isOver()).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
    expect(await start(abort).isOver()).to.equal(true);
  });

  it("know which selections may lack flags", () => {
    const { answers } = start();
    const from = (uri: string) => ({ takesSource: (source: string) => source === uri });
    answers.answered(0);
    expect([answers.mayLack(from("a")), answers.mayLack(from("b"))]).to.deep.equal([false, true]);
    answers.answered(1);
    expect(answers.mayLack({ takesSource: () => true })).to.equal(false);
  });
});
