import { expect } from "chai";
import { systemClock } from "./clock.js";
import { cut } from "./cut.js";
import { createLogger } from "./logger.js";
import { RateLimitedLog } from "./rate-limited-log.js";

describe("RateLimitedLog", () => {
  it("logs so many lines of a kind a minute, and how many it left out", () => {
    const written: string[] = [];
    const times = { nowMs: 0 };
    const log = new RateLimitedLog(
      createLogger({ format: "json", debug: false }, { write: (line) => written.push(line) }),
      { ...systemClock, monotonicMs: () => times.nowMs },
    );
    const lines = (): unknown[] =>
      written.splice(0).map((line) => {
        const { level, msg, suppressedSinceLast } = JSON.parse(line) as Record<string, unknown>;
        return [level, msg, suppressedSinceLast];
      });
    for (let i = 0; i < 5; i++) log.warn("a", {}, `a${i}`, 2);
    log.error("b", {}, "b0");
    expect(lines()).to.deep.equal([
      ["warn", "a0", undefined],
      ["warn", "a1", undefined],
      ["error", "b0", undefined],
    ]);
    times.nowMs = 60_000;
    log.warn("a", {}, "a5", 2);
    log.info("b", {}, "b1");
    log.warn("a", {}, "a6", 2);
    expect(lines()).to.deep.equal([
      ["warn", "a5", 3],
      ["info", "b1", undefined],
      ["warn", "a6", undefined],
    ]);
  });
});

describe("the fields of a line", () => {
  it("are made only if the line is logged", () => {
    const written: string[] = [];
    const log = new RateLimitedLog(
      createLogger({ format: "json", debug: false }, { write: (line) => written.push(line) }),
      { ...systemClock, monotonicMs: () => 0 },
    );
    let made = 0;
    for (let i = 0; i < 3; i++) log.info("a", () => ({ made: ++made }), "changed", 2);
    expect(written.map((line) => (JSON.parse(line) as { made: number }).made)).to.deep.equal([1, 2]);
    expect(made).to.equal(2);
  });
});

describe("cut", () => {
  it("keeps a short text, and the start of a long one", () => {
    expect(cut("x".repeat(500))).to.equal("x".repeat(500));
    expect(cut("x".repeat(501))).to.equal(`${"x".repeat(497)}...`);
  });
});
