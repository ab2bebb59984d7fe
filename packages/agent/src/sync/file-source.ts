import { setImmediate } from "node:timers/promises";
import { sleep } from "@bunting/runtime";
import { isSameContent, isSameFile, readStamp, readStamped, type FileStamp } from "./file-stamp.js";
import type { FlagSource, SourceOptions, SourceStatus } from "./flag-source.js";
import { ParentWatch, type ParentEvents } from "./parent-watch.js";
import type { FileSourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";
import { freeHeapBytes, isYamlName, jsonOfYaml, YamlDocumentError } from "./yaml-document.js";

/** How long size and time must not have moved before a file that was written in place is read; its absence rests as long. */
const restMs = 25;
/** The net under fs.watch: how often the file is looked at although no event came. */
const lookEveryMs = 2_000;
/** How often a look is repeated at once because events came in while it was taken. */
const maxLooks = 10;

/** How often a YAML file is tried that the heap has no room for. */
const maxCrampedTries = 3;

/** What a look found: nothing new; something complete; something that may be half written. */
type Change = "none" | "whole" | "writing";

/**
 * A flag document on disk.
 *
 * A half-written YAML file often still parses, so a look tells what was put in place whole (renamed, or a link swapped: read at once)
 * from what may still be written to (read once it has rested). The proof of a rename is another file than before and exactly one
 * "rename" event: every other way to put another file there takes two, or a "change". A file that is gone, empty or can't be read is
 * a state of this source and no document: what was delivered last stays.
 */
export class FileSource implements FlagSource {
  readonly name: string;
  readonly #config: FileSourceConfig;
  readonly #options: SourceOptions;
  readonly #state: SourceState;
  readonly #parent: ParentWatch;
  readonly #freeHeapBytes: () => number;
  #seen: FileStamp | undefined;
  /** False until what was seen last has been read, or been missed. */
  #isSettled = false;
  /** How long nothing is looked at, whatever the events: set while somebody may be writing. */
  #restMs: number | undefined;
  #crampedTries = 0;
  #isWoken = false;
  #wake: () => void = () => undefined;

  constructor(config: FileSourceConfig, options: SourceOptions, freeHeap: () => number = freeHeapBytes) {
    this.name = `source-${config.sourceIndex}`;
    this.#config = config;
    this.#options = options;
    this.#freeHeapBytes = freeHeap;
    this.#state = new SourceState(config, options);
    this.#parent = new ParentWatch(config.path, () => {
      this.#isWoken = true;
      this.#wake();
    });
  }

  status(): SourceStatus {
    return this.#state.status();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await this.#step(signal);
        await this.#nextLook(signal);
      }
    } finally {
      this.#parent.close();
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    let bytes: Buffer | undefined;
    try {
      const change = await this.#look();
      if (change !== "none") {
        this.#isSettled = false;
        this.#crampedTries = 0;
      }
      this.#restMs = change === "writing" ? restMs : undefined;
      if (change !== "writing" && !this.#isSettled) bytes = await this.#read();
    } catch (error) {
      // It is tried again at the next look.
      this.#restMs = undefined;
      this.#state.failed("unreadable", `can't read ${this.#config.path}: ${(error as Error).message}`);
    }
    if (bytes === undefined || signal.aborted) return;
    this.#state.documentReceived(bytes.length);
    this.#options.deliver({ sourceIndex: this.#config.sourceIndex, bytes });
  }

  async #look(): Promise<Change> {
    let isElsewhere = false;
    for (let looks = 1; ; looks++) {
      this.#isWoken = false;
      if (await this.#parent.arm()) isElsewhere = true;
      const events = this.#parent.peekEvents();
      const after = await readStamp(this.#config.path);
      await drainEvents();
      const now = this.#parent.peekEvents();
      const isComplete = now.renames === events.renames && now.changes === events.changes;
      if (!isComplete && looks < maxLooks) continue;
      const before = this.#seen;
      this.#parent.forgetEvents();
      this.#seen = after;
      return isComplete && !isElsewhere
        ? classify(before, after, events)
        : isSameContent(before, after)
          ? "none"
          : "writing";
    }
  }

  /** The document that is there; undefined if there is none, or somebody is writing to it. */
  async #read(): Promise<Buffer | undefined> {
    const { path } = this.#config;
    const { maxDocumentBytes } = this.#options;
    const stamp = this.#seen;
    this.#isSettled = true;
    if (stamp === undefined) this.#state.failed("missing", `there is no file ${path}`);
    else if (stamp.size === 0) this.#state.failed("empty", `${path} is empty`);
    else if (stamp.size <= maxDocumentBytes) return this.#readStamped(stamp);
    else {
      this.#state.failed(
        "too_large",
        `${path} has ${stamp.size} bytes, but this agent has memory for documents of ${maxDocumentBytes}: give it more memory, or split the file`,
      );
    }
    return undefined;
  }

  async #readStamped(stamp: FileStamp): Promise<Buffer | undefined> {
    const { path } = this.#config;
    this.#isSettled = false;
    const content = await readStamped(path, stamp);
    await drainEvents();
    if (content === undefined || this.#parent.peekEvents().changes > 0) {
      this.#restMs = restMs;
      return undefined;
    }
    this.#isSettled = true;
    if (!isYamlName(path)) return content;
    try {
      return await jsonOfYaml(content, this.#freeHeapBytes());
    } catch (error) {
      if (!(error instanceof YamlDocumentError)) throw error;
      this.#state.failed(error.reason, `${path}: ${error.message}`);
      if (error.reason === "too_large" && ++this.#crampedTries < maxCrampedTries) {
        // What fills the heap may be garbage; reading itself gets it collected.
        this.#isSettled = false;
        this.#restMs = lookEveryMs;
      }
      return undefined;
    }
  }

  #nextLook(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (this.#restMs !== undefined) return sleep(this.#restMs, signal, clock);
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener("abort", done);
        this.#wake = () => undefined;
        resolve();
      };
      const cancel = clock.after(lookEveryMs, done);
      signal.addEventListener("abort", done, { once: true });
      this.#wake = done;
      if (this.#isWoken || signal.aborted) done();
    });
  }
}

function classify(before: FileStamp | undefined, after: FileStamp | undefined, events: ParentEvents): Change {
  const isQuiet = events.renames + events.changes === 0;
  if (isQuiet && isSameContent(before, after)) return "none";
  if (before === undefined || after === undefined) return before === after ? "none" : "writing";
  if (after.isLink && before.realPath !== after.realPath) return "whole";
  const isReplaced = !isSameFile(before, after) && events.renames === 1 && events.changes === 0;
  return isReplaced ? "whole" : "writing";
}

/** The first turn of the event loop ends the poll that may be under way, the second holds a whole one: no event is left behind. */
async function drainEvents(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
