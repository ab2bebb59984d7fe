import { setTimeout as delay } from "node:timers/promises";
import { patient } from "./patience.js";

/**
 * How long a test waits before it fails, on a quiet machine. It does not assert speed: only a hang reaches it. Mocha's own limit
 * (.mocharc.json) is longer, so that the failure says what was waited for. All limits here are lengthened by `patient`.
 */
export const patienceMs = 30_000;

/** Between two looks of `eventually`. */
export const lookMs = 5;

/** The same where looks are requests, and it has waited for a second. */
const slowLookMs = 100;

/**
 * Queues events, to be awaited one by one. That none comes is shown by a later event that is the next one: to wait for a while and look shows
 * nothing on a slow machine.
 */
export class EventQueue<T> {
  readonly #events: T[] = [];
  readonly #waiting: ((event: T) => void)[] = [];

  push(event: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#events.push(event);
    else waiting(event);
  }

  get size(): number {
    return this.#events.length;
  }

  /** The next event, or a failure that says what was waited for. */
  nextEvent(what = "an event", withinMs = patienceMs): Promise<T> {
    return this.#nextWithin(patient(withinMs), what);
  }

  async #nextWithin(withinMs: number, what: string): Promise<T> {
    const event = this.#events.shift();
    if (event !== undefined) return event;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(settle), 1);
        reject(new Error(`${what} did not come within ${withinMs} ms`));
      }, withinMs);
      const settle = (next: T): void => {
        clearTimeout(timer);
        resolve(next);
      };
      this.#waiting.push(settle);
    });
  }

  /** The first event for which `matches` is true; those before it are dropped. */
  async nextMatching(
    matches: (event: T) => boolean,
    what = "a matching event",
    withinMs = patienceMs,
  ): Promise<T> {
    const deadline = Date.now() + patient(withinMs);
    for (;;) {
      const event = await this.#nextWithin(Math.max(1, deadline - Date.now()), what);
      if (matches(event)) return event;
    }
  }
}

/**
 * Waits until a condition holds; fails with `what` if it does not. It looks every few milliseconds. Where a look is asynchronous, it is mostly a request
 * that the process under test computes for: then it looks less often the longer it has waited.
 *
 * @param slowestMs between two looks; `lookMs` where each look has time go on
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = patienceMs,
  slowestMs = slowLookMs,
): Promise<void> {
  const sinceMs = Date.now();
  const limitMs = patient(withinMs);
  for (;;) {
    const holds = condition();
    if (await holds) return;
    const waitedMs = Date.now() - sinceMs;
    if (waitedMs > limitMs) throw new Error(`${what}: not within ${limitMs} ms`);
    const isRequest = typeof holds !== "boolean";
    await delay(isRequest ? Math.min(Math.max(lookMs, waitedMs / 10), slowestMs) : lookMs);
  }
}
