import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  encodeDocument,
  type FlagDocument,
  type JsonObject,
  type PastVersion,
  type TopicKey,
} from "@bunting/protocol";
import { patienceMs } from "@bunting/test/support/event-queue.js";
import { patient } from "@bunting/test/support/patience.js";
import { createLogger, systemClock, type Clock } from "@bunting/runtime";
import { expect } from "chai";
import { DirectorySource } from "./directory/directory-source.js";
import type { FlagSource, SourceSink, SourceVersion, SourceReport } from "./flag-source.js";
import type { WatchCounts } from "./kubernetes/watch-metrics.js";
import type { SourceMetrics } from "./source-metrics.js";

export { flags, manifest, textOf } from "@bunting/featureflags/internal/manifest/manifest.fixture.js";

export type SinkEvent =
  | { readonly kind: "document"; readonly text: string; readonly version: SourceVersion }
  | { readonly kind: "missing" | "deleted" }
  | { readonly kind: "stale"; readonly reason: Error };

/** A sink that keeps what it received. */
export class RecordingSink implements SourceSink {
  readonly events: SinkEvent[] = [];
  /** How many of them were `sameDocument`. */
  sameDocuments = 0;
  /** The history in each document report: the versions before the document. */
  readonly histories: (readonly PastVersion[] | undefined)[] = [];
  #read = 0;
  #wake: (() => void) | undefined;

  flags(): JsonObject | undefined {
    const text = this.lastText;
    return text === undefined ? undefined : (JSON.parse(text) as FlagDocument).flags;
  }

  report(report: SourceReport): void {
    switch (report.kind) {
      case "document": {
        const { kind, document, version, history } = report;
        this.histories.push(history);
        this.#add({ kind, text: encodeDocument(document), version });
        return;
      }
      case "sameDocument":
        this.sameDocuments++;
        this.#add({ kind: "document", text: this.lastText ?? "", version: report.version });
        return;
      case "missing":
      case "deleted":
        this.#add({ kind: report.kind });
        return;
      case "stale":
        this.#add(report);
    }
  }

  get last(): SinkEvent | undefined {
    return this.events.at(-1);
  }

  get lastText(): string | undefined {
    return this.events.findLast((event) => event.kind === "document")?.text;
  }

  /** Takes the next event, once there is one. */
  async next(withinMs = patient(patienceMs)): Promise<SinkEvent> {
    const event = await this.#take(withinMs);
    if (event === undefined) throw new Error(`no event within ${withinMs} ms`);
    return event;
  }

  /** Takes the next event, which must be a document; returns its text, which `textOf` makes of the same version. */
  async nextText(): Promise<string> {
    const event = await this.next();
    expect(event.kind).to.equal("document");
    return event.kind === "document" ? event.text : "";
  }

  async nextStale(): Promise<Error> {
    const event = await this.next();
    expect(event.kind).to.equal("stale");
    return event.kind === "stale" ? event.reason : new Error();
  }

  /** Takes events until the document is this one. */
  async until(text: string): Promise<void> {
    const deadline = performance.now() + patient(patienceMs);
    for (;;) {
      const event = await this.next(deadline - performance.now());
      if (event.kind === "document" && event.text === text) return;
    }
  }

  /** How many events wait to be taken. */
  get untaken(): number {
    return this.events.length - this.#read;
  }

  async #take(withinMs: number): Promise<SinkEvent | undefined> {
    if (this.#read === this.events.length) {
      const timer = new AbortController();
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([
        woken,
        wait(Math.max(0, withinMs), undefined, { signal: timer.signal }).catch(() => undefined),
      ]);
      timer.abort();
    }
    return this.#read < this.events.length ? this.events[this.#read++] : undefined;
  }

  #add(event: SinkEvent): void {
    this.events.push(event);
    this.#wake?.();
  }
}

/** A monotonic clock that a test advances. The time of day is the real one, because files have real times. */
export class ManualClock implements Clock {
  #nowMs = 1_000;
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  now(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances one millisecond at a time, and after each waits a real one, in which the file system can answer. */
  async advance(byMs: number): Promise<void> {
    for (let passed = 0; passed < byMs; passed++) {
      this.#nowMs++;
      this.#fire();
      await wait(1);
    }
  }

  /** How long it is until the next timer is due. */
  get nextDelayMs(): number {
    return Math.min(...this.#timers.map(({ dueMs }) => dueMs - this.#nowMs));
  }

  /** Advances in one step, as after a suspended process: timers fire once, at the end. */
  jump(byMs: number): void {
    this.#nowMs += byMs;
    this.#fire();
  }

  #fire(): void {
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.#nowMs);
    for (const { callback } of due) callback();
  }
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly file?: string;
  readonly line?: number;
  readonly reason?: string;
  readonly warning?: string;
  readonly topic?: string;
}

export class CountingMetrics implements SourceMetrics {
  readonly counts: Record<string, number> = {};

  sourceError(): void {
    this.#count("sourceError");
  }

  documentInvalid(reason: string): void {
    this.#count(`invalid:${reason}`);
  }

  documentWarning(kind: string): void {
    this.#count(`warning:${kind}`);
  }

  relisted(reason: string): void {
    this.#count(`relist:${reason}`);
  }

  watchEvent(type: string): void {
    this.#count(`event:${type}`);
  }

  writtenToEvent(): void {
    this.#count("writtenToEvent");
  }

  unconfirmedTopics(delta: number): void {
    this.counts["unconfirmed"] = (this.counts["unconfirmed"] ?? 0) + delta;
  }

  copyFailed(kind: string): void {
    this.#count(`copy:${kind}`);
  }

  upstreamStreams(delta: number): void {
    this.counts["upstreams"] = (this.counts["upstreams"] ?? 0) + delta;
  }

  upstreamMessage(kind: string): void {
    this.#count(`upstream:${kind}`);
  }

  upstreamFailed(reason: string): void {
    this.#count(`upstreamFailed:${reason}`);
  }

  watchCounts(read: () => WatchCounts): void {
    this.watches = read;
  }

  /** Asks the source for its watches. */
  watches: (() => WatchCounts) | undefined;

  #count(key: string): void {
    this.counts[key] = (this.counts[key] ?? 0) + 1;
  }
}

/** A running source, with its metrics and its log. */
export class RunningSource {
  readonly metrics = new CountingMetrics();
  readonly #lines: string[] = [];
  readonly #stopping = new AbortController();
  readonly source: FlagSource;
  readonly #running: Promise<void>;

  constructor(
    make: (parts: ConstructorParameters<typeof DirectorySource>[0]) => FlagSource,
    path: string,
    clock: Clock,
  ) {
    const logger = createLogger(
      { format: "json", debug: true },
      { write: (line) => void this.#lines.push(line) },
    );
    this.source = make({ path, context: { clock, logger, metrics: this.metrics } });
    this.#running = this.source.run(this.#stopping.signal);
  }

  synced(): Promise<void> {
    return new Promise((resolve) => this.source.onSynced(resolve));
  }

  watch(topic: string, signal: AbortSignal = this.#stopping.signal): RecordingSink {
    const sink = new RecordingSink();
    this.source.watch(topic as TopicKey, sink, signal);
    return sink;
  }

  get log(): LogLine[] {
    return this.#lines.map((line) => JSON.parse(line) as LogLine);
  }

  logged(level: string): LogLine[] {
    return this.log.filter((line) => line.level === level);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }
}

/** Gives each test a directory and sources, which are stopped after the test. A watch that is left then fails the test. */
export function useDirectory(): {
  readonly path: string;
  start(clock?: Clock, path?: string): Promise<RunningSource>;
  run(make: ConstructorParameters<typeof RunningSource>[0], clock?: Clock, path?: string): RunningSource;
} {
  let path = "";
  let running: RunningSource[] = [];
  beforeEach(() => {
    path = join(realpathSync(mkdtempSync(join(tmpdir(), "bunting-source-"))), "flags");
  });
  afterEach(async () => {
    await Promise.all(running.map((source) => source.stop()));
    running = [];
    rmSync(join(path, ".."), { recursive: true, force: true });
    await noWatchLeft();
  });
  const run = (
    make: ConstructorParameters<typeof RunningSource>[0],
    clock: Clock = systemClock,
    at = path,
  ): RunningSource => {
    const source = new RunningSource(make, at, clock);
    running.push(source);
    return source;
  };
  return {
    get path() {
      return path;
    },
    run,
    start: async (clock, at) => {
      const source = run((options) => new DirectorySource(options), clock, at);
      await source.synced();
      return source;
    },
  };
}

/** A closed watch is released in the next turn of the event loop. */
export async function noWatchLeft(): Promise<void> {
  await wait(1);
  await wait(1);
  const left = process.getActiveResourcesInfo().filter((resource) => resource === "FSEventWrap");
  expect(left, "watches left").to.deep.equal([]);
}
