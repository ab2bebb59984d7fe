import type { Clock } from "@bunting/runtime";
import { expect } from "chai";
import { MessageArrival } from "./message-arrival.js";
import { SilenceWatch } from "./silence-watch.js";

/** A clock with one timer. */
class TimerClock implements Clock {
  #nowMs = 0;
  #timer: { readonly dueMs: number; readonly fire: () => void } | undefined;

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): () => void {
    this.#timer = { dueMs: this.#nowMs + delayMs, fire };
    return () => (this.#timer = undefined);
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let due = this.#timer; due !== undefined && due.dueMs <= untilMs; due = this.#timer) {
      this.#timer = undefined;
      this.#nowMs = due.dueMs;
      due.fire();
    }
    this.#nowMs = untilMs;
  }
}

describe("SilenceWatch", () => {
  let clock: TimerClock;
  let channel: { bytesRead: number };
  let watch: SilenceWatch;
  let silentMs: number | undefined;

  beforeEach(() => {
    clock = new TimerClock();
    channel = { bytesRead: 0 };
    silentMs = undefined;
    watch = new SilenceWatch(clock, 100, new MessageArrival(channel));
    watch.start(() => (silentMs = clock.monotonicMs()));
  });

  it("calls back a minute after the last message, however large that was", () => {
    clock.advance(5_000);
    channel.bytesRead += 1_000_000;
    watch.heard();
    clock.advance(120_000);
    expect(silentMs).to.equal(65_000);
  });

  it("waits on while a message is arriving", () => {
    for (let minute = 0; minute < 5; minute++) {
      channel.bytesRead += 100_000;
      clock.advance(60_000);
    }
    expect(silentMs).to.equal(undefined);
    clock.advance(60_000);
    expect(silentMs).to.equal(360_000);
  });
});
