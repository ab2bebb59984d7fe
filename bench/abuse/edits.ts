import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs } from "../support/monotonic.js";

export type Phase = "calm" | "attack" | "after";

export interface Edit {
  readonly phase: Phase;
  /** Just before its write was sent. */
  readonly sentMs: number;
  /** When the API server had answered the write. */
  answeredMs: number;
  /** When a watch beside the proxy had it. */
  watchedMs: number;
}

/** Edits a FeatureFlag at a fixed pace, whether or not the edit before has arrived anywhere. */
export class Edits {
  readonly list: Edit[] = [];
  phase: Phase = "calm";
  readonly #write: (index: number) => Promise<unknown>;
  readonly #everyMs: number;

  constructor(write: (index: number) => Promise<unknown>, everyMs: number) {
    this.#write = write;
    this.#everyMs = everyMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const edit = { phase: this.phase, sentMs: monotonicMs(), answeredMs: NaN, watchedMs: NaN };
      this.list.push(edit);
      await this.#write(this.list.length - 1);
      edit.answeredMs = monotonicMs();
      await delay(Math.max(0, edit.sentMs + this.#everyMs - monotonicMs()));
    }
  }

  noteWatched(index: number): void {
    const edit = this.list[index];
    if (edit !== undefined) edit.watchedMs = monotonicMs();
  }
}
