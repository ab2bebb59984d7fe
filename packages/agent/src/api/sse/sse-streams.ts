import { randomBytes } from "node:crypto";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { FlagChange } from "../../store/flag-change.js";
import type { HttpExchange } from "@bunting/server";
import type { OutgoingStream } from "../outgoing-stream.js";
import { PacedStream } from "../paced-stream.js";
import type { Selection } from "../selection.js";
import { StreamGroup } from "../stream-group.js";
import { StreamRegistry, type GroupedStream } from "../stream-registry.js";

export interface SseStreamsOptions {
  readonly clock: Clock;
  /** `--stream-deadline`; 0 means none. */
  readonly streamDeadlineMs: number;
  /** `--recent-changes` */
  readonly recentMs: number;
}

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  // nginx would buffer events.
  "x-accel-buffering": "no",
};
/** Well below the least time after which proxies usually end a silent connection, 30 s. */
const silenceMs = 20_000;
const comment = Buffer.from(": keep-alive\n\n");

/**
 * The event streams of OFREP: they tell clients to ask for all flags again. An event is encoded once for all streams. A stream has one event
 * in flight; whatever changes meanwhile is one event afterwards.
 */
export class SseStreams {
  readonly #clock: Clock;
  readonly #recentMs: number;
  readonly #silent: Deadlines<SseStream>;
  readonly #streams: StreamRegistry<SseStream, SseGroup>;
  readonly #open = new Set<OutgoingStream>();
  /** Events of another process have other ids. */
  readonly #process = randomBytes(6).toString("base64url");
  #version = 0;
  #newest: RefetchEvent;
  /**
   * A client asks for its flags first and opens its stream then, perhaps after one that it has lost. A new stream is told at once of changes that
   * are recent: one of them may have come in between, or while no agent ran.
   */
  #changedMs: number;
  #onDrained: (() => void) | undefined;

  constructor({ clock, streamDeadlineMs, recentMs }: SseStreamsOptions) {
    this.#clock = clock;
    this.#recentMs = recentMs;
    this.#changedMs = clock.monotonicMs();
    this.#newest = refetchEvent(`${this.#process}-0`);
    this.#silent = new Deadlines(clock, silenceMs, (stream) => stream.keepAlive());
    this.#streams = new StreamRegistry<SseStream, SseGroup>({
      clock,
      streamDeadlineMs,
      createGroup: (selection) => new SseGroup(selection),
      onLeave: (stream) => {
        stream.leave();
        this.#silent.cancel(stream);
      },
      // A client connects again at the end of its stream, whatever it was sent before.
      writeLast: () => undefined,
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Begins a stream of the changes of a selection. */
  subscribe(exchange: HttpExchange, selection: Selection): void {
    exchange.begin(200, headers);
    const out = outgoingStream(exchange);
    const stream = this.#streams.open(
      out,
      selection,
      (group) => new SseStream(out, group, this.#silent, () => this.#newest),
    );
    if (stream === undefined) return;
    this.#open.add(out);
    out.onClose(() => {
      this.#open.delete(out);
      if (this.#open.size === 0) this.#onDrained?.();
    });
    const lastId = exchange.header("last-event-id");
    if (lastId === undefined ? this.#changedRecently() : lastId !== this.#newest.id) stream.refetch();
    else stream.begin();
  }

  /** Tells the streams of selections whose flags changed. To be called after every change of the store. */
  publish(changes: readonly FlagChange[]): void {
    this.#newest = refetchEvent(`${this.#process}-${++this.#version}`);
    this.#changedMs = this.#clock.monotonicMs();
    for (const group of this.#streams.groups()) group.publish(changes);
  }

  /** Ends all streams, and those that still come. Resolves when all have closed. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#streams.shutdown();
      if (this.#open.size === 0) resolve();
    });
  }

  #changedRecently(): boolean {
    return this.#clock.monotonicMs() - this.#changedMs < this.#recentMs;
  }
}

interface RefetchEvent {
  /** What a client that has lost its connection names in Last-Event-ID. */
  readonly id: string;
  readonly frame: Buffer;
  /** The id alone, which a client keeps and acts on in no other way. */
  readonly idFrame: Buffer;
}

function refetchEvent(id: string): RefetchEvent {
  const line = `id: ${id}\n`;
  const idFrame = Buffer.from(`${line}\n`);
  return { id, frame: Buffer.from(`${line}data: {"type":"refetchEvaluation"}\n\n`), idFrame };
}

/** The streams with one selector. */
class SseGroup extends StreamGroup<SseStream> {
  publish(changes: readonly FlagChange[]): void {
    if (!this.isChangedBy(changes)) return;
    for (const stream of this.streams) stream.refetch();
  }
}

/** One client's stream. */
class SseStream extends PacedStream implements GroupedStream<SseGroup> {
  readonly group: SseGroup;
  readonly #silent: Deadlines<SseStream>;
  readonly #newest: () => RefetchEvent;
  #isDue = false;

  constructor(
    out: OutgoingStream,
    group: SseGroup,
    silent: Deadlines<SseStream>,
    newest: () => RefetchEvent,
  ) {
    super(out);
    this.group = group;
    this.#silent = silent;
    this.#newest = newest;
  }

  /** Sends the newest event, once the one in flight has been written. */
  refetch(): void {
    this.#isDue = !this.isIdle;
    if (this.isIdle) this.#sendFrame(this.#newest().frame);
  }

  /** Tells the client which event it is at, so that it can say so when it comes back, however late that is. */
  begin(): void {
    this.#sendFrame(this.#newest().idFrame);
  }

  keepAlive(): void {
    if (this.isIdle) this.#sendFrame(comment);
    else this.#silent.start(this);
  }

  protected override onIdle(): void {
    if (this.#isDue) this.refetch();
  }

  #sendFrame(frame: Buffer): void {
    this.#silent.start(this);
    this.send(frame);
  }
}

function outgoingStream(exchange: HttpExchange): OutgoingStream {
  return {
    stream: exchange,
    header: (name) => exchange.header(name),
    writeShared: (frame, onWritten) => exchange.write(frame, onWritten),
    end: () => exchange.end(undefined),
    onClose: (listener) => exchange.onClose(listener),
  };
}
