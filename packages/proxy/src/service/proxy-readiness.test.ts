import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ProxyReadiness } from "./proxy-readiness.js";

function useReadiness(hasSynced: boolean) {
  const clock = new ManualClock();
  const listeners: (() => void)[] = [];
  const source = {
    hasSynced,
    hasCopies: false,
    onSynced: (listener: () => void) => void listeners.push(listener),
  };
  const load = { refusesNew: false };
  /** What was told, whenever something may have changed. */
  const told: boolean[] = [];
  const readiness = new ProxyReadiness({ source, refusesNew: () => load.refusesNew, clock });
  readiness.changed.listen(() => told.push(readiness.check().isReady));
  const sync = (isSynced = true): void => {
    source.hasSynced = isSynced;
    for (const listener of listeners) listener();
  };
  return { clock, source, load, readiness, told, sync };
}

describe("the proxy's readiness", () => {
  it("waits for the port", () => {
    const { readiness } = useReadiness(true);
    expect(readiness.check()).to.deep.equal({ isReady: false, reason: "not listening yet" });
    readiness.listening();
    expect(readiness.check()).to.deep.equal({ isReady: true, reason: "ready" });
  });

  it("waits for the source, but no longer than 10 s, and says so", () => {
    const { clock, source, readiness } = useReadiness(false);
    clock.advance(60_000);
    readiness.listening();
    clock.advance(9_999);
    expect(readiness.check()).to.have.property("isReady", false);
    expect(readiness.check().reason).to.include("source");
    clock.advance(1);
    expect(readiness.check().isReady).to.be.true;
    expect(readiness.check().reason).to.include("not been read");
    source.hasSynced = true;
    expect(readiness.check()).to.deep.equal({ isReady: true, reason: "ready" });
  });

  it("does not wait for the source if there are copies to serve meanwhile, and says that they may be stale", () => {
    const { source, readiness, told, sync } = useReadiness(false);
    readiness.listening();
    expect(readiness.check()).to.have.property("isReady", false);
    source.hasCopies = true;
    sync(false);
    expect(readiness.check()).to.deep.equal({
      isReady: true,
      reason: "ready, but flags may be stale: the source has not been read for the first time yet",
    });
    expect(told).to.deep.equal([false, true]);
    sync();
    expect(readiness.check()).to.deep.equal({ isReady: true, reason: "ready" });
  });

  it("says that new clients are refused, and stays ready for those that are served", () => {
    const { readiness, load } = useReadiness(true);
    readiness.listening();
    load.refusesNew = true;
    expect(readiness.check()).to.deep.equal({
      isReady: true,
      reason: "ready, but new clients are refused: --peer-memory is used up",
    });
  });

  it("tells of each change, also when the source has had its 10 s", () => {
    const { clock, readiness, told } = useReadiness(false);
    readiness.listening();
    expect(told).to.deep.equal([false]);
    clock.advance(9_999);
    expect(told).to.deep.equal([false]);
    clock.advance(1);
    expect(told).to.deep.equal([false, true]);
    readiness.draining();
    expect(told).to.deep.equal([false, true, false]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("tells when the source has synced, and waits no longer then", () => {
    const { clock, readiness, told, sync } = useReadiness(false);
    readiness.listening();
    sync();
    expect(told).to.deep.equal([false, true]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("is lost again only by draining", () => {
    const { source, readiness } = useReadiness(true);
    readiness.listening();
    expect(readiness.check().isReady).to.be.true;
    source.hasSynced = false;
    expect(readiness.check().isReady).to.be.true;
    readiness.draining();
    expect(readiness.check().isReady).to.be.false;
    expect(readiness.check().reason).to.include("draining");
  });
});
