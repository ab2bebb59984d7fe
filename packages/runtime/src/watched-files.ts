import { systemClock, type Clock } from "./clock.js";
import type { Logger } from "./logger.js";
import { stampOfFile } from "./small-file.js";

/** Options of files that are read again when they change. */
export interface ReloadOptions {
  /** How often the files are looked at; default 2 s; Infinity: never. Files that can't be used are reported after the second look. */
  readonly intervalMs?: number;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly clock?: Clock;
  /** Called for each change of the files: with false when they can't be used, and what was read before stays in use. */
  readonly onReload?: ((isUsed: boolean) => void) | undefined;
}

export interface WatchedFilesOptions<Content> extends ReloadOptions {
  readonly paths: readonly string[];
  /** For the log: `certificate`. */
  readonly name: string;
  /** For the log: what a change means, for instance `new connections get it`. */
  readonly effect: string;
  /** Names the files in the log. */
  readonly fields: Readonly<Record<string, string>>;
  /** Rejects with a message that tells the user what to do if the files can't be used. */
  readonly read: () => Promise<Content>;
  readonly use: (content: Content) => void;
  /** Log line about the content that is used from now on. */
  readonly summarize: (content: Content) => Readonly<Record<string, unknown>>;
}

const defaultIntervalMs = 2_000;
/** A file may be in the middle of being written at the first look. */
const looksBeforeWarning = 2;

/**
 * Files that are read again when they change; those of a mounted Secret are replaced by a link to another directory. Content that can't be
 * used, for instance because only one of two files was replaced, is refused, and what was read before stays in use.
 */
export class WatchedFiles<Content> {
  readonly #options: WatchedFilesOptions<Content>;
  readonly #clock: Clock;
  #isRunning = false;
  #cancelNext: (() => void) | undefined;
  /** The files whose content is in use. */
  #stamp = "";
  #refused = { stamp: "", looks: 0 };

  constructor(options: WatchedFilesOptions<Content>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Reads the files, and looks for changes until `stop`. Rejects if they can't be used. */
  async start(): Promise<void> {
    const stamp = await this.#readStamp();
    this.#use(await this.#options.read(), stamp);
    this.#isRunning = true;
    this.#awaitNext();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancelNext?.();
  }

  #awaitNext(): void {
    if (!this.#isRunning) return;
    this.#cancelNext = this.#clock.after(this.#options.intervalMs ?? defaultIntervalMs, () => {
      void this.#look().finally(() => this.#awaitNext());
    });
  }

  async #look(): Promise<void> {
    const { name, effect, fields, logger, onReload } = this.#options;
    const stamp = await this.#readStamp();
    if (stamp === this.#stamp) return;
    try {
      const content = await this.#options.read();
      // Or they are being replaced, and the next look takes them.
      if ((await this.#readStamp()) !== stamp || !this.#isRunning) return;
      this.#use(content, stamp);
      onReload?.(true);
      logger.info({ ...fields, ...this.#options.summarize(content) }, `the ${name} has changed; ${effect}`);
    } catch (error) {
      const looks = stamp === this.#refused.stamp ? this.#refused.looks + 1 : 1;
      this.#refused = { stamp, looks };
      // Refused files are read at each look: there may be no descriptor for them, and files do not change when there are some again.
      if (looks !== looksBeforeWarning) return;
      onReload?.(false);
      logger.warn(
        fields,
        `the changed ${name} is refused, and the one before stays in use: ${(error as Error).message}`,
      );
    }
  }

  #use(content: Content, stamp: string): void {
    this.#options.use(content);
    this.#stamp = stamp;
    this.#refused = { stamp: "", looks: 0 };
  }

  /** Changes whenever one of the files does. */
  async #readStamp(): Promise<string> {
    return (await Promise.all(this.#options.paths.map(stampOfFile))).join(" ");
  }
}
