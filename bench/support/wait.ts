import { setTimeout as delay } from "node:timers/promises";
import { busyShare, machineTime } from "./processor.js";

/** Resolves once the URL answers 200. */
export async function untilReady(url: string, assertRuns: () => void, timeoutMs = 20_000): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    assertRuns();
    const status = await fetch(url).then(
      (response) => response.status,
      () => undefined,
    );
    if (status === 200) return;
    if (performance.now() > until) throw new Error(`${url} did not answer 200 within ${timeoutMs / 1000} s`);
    await delay(25);
  }
}

/**
 * Waits until the machine is mostly idle, at most for the given time, because other work distorts a measurement.
 */
export async function untilQuiet(maxWaitMs: number): Promise<void> {
  const until = performance.now() + maxWaitMs;
  while (performance.now() < until) {
    const before = machineTime();
    await delay(200);
    if (busyShare(before, machineTime()) < 0.1) return;
  }
}
