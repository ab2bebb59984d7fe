import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { AwaitedSources } from "./awaited-sources.js";

interface Held {
  readonly sources: AwaitedSources;
  readonly clock: ManualClock;
  readonly abort: AbortController;
  readonly isOver: () => Promise<boolean>;
}

/** The component of two sources, started. */
function start(abort = new AbortController()): Held {
  const sources = new AwaitedSources([{ uri: "a" }, { uri: "b" }]);
  const clock = new ManualClock();
  let isOver = false;
  const started = Promise.resolve(sources.component(clock).start(() => undefined, abort.signal));
  void started.then(() => (isOver = true));
  return { sources, clock, abort, isOver: () => Promise.resolve().then(() => isOver) };
}

describe("AwaitedSources", () => {
  it("hold the ports back until every source has answered", async () => {
    const { sources, clock, isOver } = start();
    expect(sources.answered(1)).to.equal(true);
    expect(sources.answered(1), "again").to.equal(false);
    expect([sources.isComplete, await isOver()]).to.deep.equal([false, false]);
    expect([...sources.awaited()]).to.deep.equal([[0, "a"]]);
    sources.answered(0);
    expect([sources.isComplete, await isOver()]).to.deep.equal([true, true]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("hold them for two seconds at most", async () => {
    const { sources, clock, isOver } = start();
    clock.advance(1_999);
    expect(await isOver()).to.equal(false);
    clock.advance(1);
    expect(await isOver()).to.equal(true);
    expect(sources.isComplete).to.equal(false);
    expect(sources.answered(0)).to.equal(true);
  });

  it("hold nothing back that is to stop", async () => {
    const { clock, abort, isOver } = start();
    abort.abort();
    expect(await isOver()).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
    expect(await start(abort).isOver()).to.equal(true);
  });

  it("hold the ports back although there are copies, until the sources have answered or can't be reached", async () => {
    const { sources, isOver } = start();
    sources.lost(0);
    expect(sources.loaded(0)).to.equal(true);
    expect(sources.loaded(1)).to.equal(true);
    expect([sources.isComplete, await isOver()]).to.deep.equal([true, false]);
    expect(sources.answered(0), "the flags of the copy came first").to.equal(false);
    expect(await isOver()).to.equal(false);
    sources.lost(1);
    expect(await isOver()).to.equal(true);
  });

  it("hold the ports back for a source without a copy that can't be reached: others may answer that a flag does not exist", async () => {
    const { sources, isOver } = start();
    sources.answered(0);
    sources.lost(1);
    expect(await isOver()).to.equal(false);
    sources.answered(1);
    expect(await isOver()).to.equal(true);
  });

  it("know which selections may lack flags", () => {
    const { sources } = start();
    const from = (uri: string) => ({ takesSource: (source: string) => source === uri });
    sources.answered(0);
    expect([sources.mayLack(from("a")), sources.mayLack(from("b"))]).to.deep.equal([false, true]);
    sources.answered(1);
    expect(sources.mayLack({ takesSource: () => true })).to.equal(false);
  });
});
