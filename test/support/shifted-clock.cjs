/*
 * Preloaded into a process (NODE_OPTIONS=--require=…), it makes the wall clock wrong by BUNTING_TEST_CLOCK_SHIFT_MS, and by as much again with each
 * SIGUSR2, as if somebody set it. Timers and the monotonic clock stay right, as they do on a machine whose clock is set.
 */
"use strict";

const stepMs = Number(process.env.BUNTING_TEST_CLOCK_SHIFT_MS);
const RightDate = Date;
let shiftMs = stepMs;
process.on("SIGUSR2", () => (shiftMs += stepMs));

globalThis.Date = class Date extends RightDate {
  constructor(...args) {
    if (args.length === 0) super(RightDate.now() + shiftMs);
    else super(...args);
  }

  static now() {
    return RightDate.now() + shiftMs;
  }
};
