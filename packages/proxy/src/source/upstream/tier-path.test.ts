import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { TierPath } from "./tier-path.js";

const second = 1_000;

describe("TierPath", () => {
  let clock: ManualClock;
  let path: TierPath;
  let told: (readonly string[])[];
  beforeEach(() => {
    clock = new ManualClock();
    path = new TierPath(clock);
    told = [];
    path.onChange(() => told.push(path.tier.proxies.slice(1)));
  });

  it("tells the first change at once, and an upstream that changes with every message at most once a second", () => {
    const connection = {};
    for (let message = 0; message < 9_000; message++) {
      path.fedBy(connection, { proxies: [`proxy-${message}`], depth: 1 });
      clock.advance(1);
    }
    expect(told[0]).to.deep.equal(["proxy-0"]);
    expect(told.length).to.be.within(9, 10);
    clock.advance(second);
    expect(told.at(-1), "the latest is told").to.deep.equal(["proxy-8999"]);
  });

  it("tells nothing if a change was taken back before it was told", () => {
    const [one, other] = [{}, {}];
    path.fedBy(one, { proxies: ["one"], depth: 1 });
    path.fedBy(other, { proxies: ["other"], depth: 1 });
    path.fedBy(other, undefined);
    clock.advance(2 * second);
    expect(told).to.deep.equal([["one"]]);
  });

  it("says at once what it is fed by, and that nothing feeds it any more, and leaves no timer then", () => {
    const connection = {};
    path.fedBy(connection, { proxies: ["one"], depth: 1 });
    path.fedBy(connection, { proxies: ["two"], depth: 5 });
    expect(path.tier).to.deep.equal({ proxies: [path.id, "two"], depth: 6 });
    expect(clock.pendingTimers).to.equal(1);
    path.fedBy(connection, undefined);
    expect(told).to.deep.equal([["one"], []]);
    expect(path.tier.depth).to.equal(1);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("passes on at most 256 names, and none that is longer than those of proxies", () => {
    const names = Array.from({ length: 1_024 }, (_, i) => `proxy-${i}`);
    path.fedBy({}, { proxies: ["x".repeat(100_000), ...names], depth: 1 });
    path.fedBy({}, { proxies: names.map((name) => `other-${name}`), depth: 1 });
    expect(path.tier.proxies).to.have.length(256);
    expect(path.tier.proxies.slice(0, 2)).to.deep.equal([path.id, "proxy-0"]);
  });

  it("finds itself among any number of names", () => {
    const proxies = [...Array.from({ length: 1_000 }, (_, i) => `proxy-${i}`), path.id];
    expect(path.refusalOf({ proxies, depth: 2 })?.reason).to.equal("loop");
    expect(path.refusalOf({ proxies: ["another"], depth: 8 })?.reason).to.equal("depth");
    expect(path.refusalOf({ proxies: ["another"], depth: 7 })).to.equal(undefined);
  });
});
