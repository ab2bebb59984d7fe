import { serverStreaming, type Method, type ResponseStream, type TransportStream } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { FlagChange } from "../backend.js";
import { selectorHeader, type Selections } from "../selection.js";
import { keepAliveFrame, providerReadyFrame, providerShutdownFrame } from "./event-frames.js";
import { EventGroup, type EventSubscriber } from "./event-group.js";
import type { PendingChanges } from "./pending-changes.js";
import { shutdownStatus, StreamEnding, streamDeadlineStatus } from "../stream-ending.js";

export interface EventStreamOptions {
  readonly selections: Selections;
  readonly clock: Clock;
  /** `--stream-deadline`; 0 is none. */
  readonly streamDeadlineMs: number;
}

/** How long a stream is silent before it is told that all is well. */
const keepAliveMs = 20_000;

/**
 * EventStream of all three protocols: tells clients which flags changed, for their caches.
 *
 * A stream has one frame in flight. What changes while it is, it gets as one event afterwards, so that a client that does not read
 * costs a bounded amount, and one that reads again is told of every flag that is not what it was.
 */
export class EventStreams {
  readonly #options: EventStreamOptions;
  readonly #groups = new Map<string, EventGroup>();
  readonly #silent: Deadlines<EventStream>;
  readonly #expiring: Deadlines<EventStream>;
  readonly #ending: StreamEnding;
  readonly #open = new Map<TransportStream, EventStream>();
  #isShutDown = false;

  constructor(options: EventStreamOptions) {
    const { clock, streamDeadlineMs } = options;
    this.#options = options;
    this.#ending = new StreamEnding(clock);
    this.#silent = new Deadlines(clock, keepAliveMs, (stream) => stream.keepAlive());
    this.#expiring = new Deadlines(clock, streamDeadlineMs, (stream) => {
      this.#leave(stream);
      this.#ending.end(stream.out, streamDeadlineStatus);
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  /** The EventStream method of a service, by the service's name. */
  method(service: string): Method {
    return serverStreaming({
      path: `/${service}/EventStream`,
      decode: () => undefined,
      handle: (_request, out) => this.#subscribe(out),
    });
  }

  /** Tells each stream of what changed in its set. To be called after every change of the store. */
  publish(changes: Iterable<FlagChange>): void {
    for (const group of this.#groups.values()) group.publish(changes);
  }

  /** Ends a stream, if it is one of ours. Its connection's GOAWAY must have gone out, or the client comes back at once. */
  drain(transportStream: TransportStream): void {
    const stream = this.#open.get(transportStream);
    if (stream === undefined) return;
    this.#leave(stream);
    stream.out.write(providerShutdownFrame);
    this.#ending.end(stream.out, shutdownStatus);
  }

  /** Ends all streams, and those that still come. */
  shutdown(): void {
    this.#isShutDown = true;
    for (const stream of this.#open.keys()) this.drain(stream);
  }

  #subscribe(out: ResponseStream): void {
    const selection = this.#options.selections.of(out.header(selectorHeader));
    if (this.#isShutDown) {
      out.end(shutdownStatus);
      return;
    }
    let group = this.#groups.get(selection.text);
    if (group === undefined) this.#groups.set(selection.text, (group = new EventGroup(selection)));
    const stream = new EventStream(out, group, this.#silent);
    this.#open.set(out.stream, stream);
    group.add(stream);
    if (this.#options.streamDeadlineMs > 0) this.#expiring.start(stream);
    out.onClose(() => this.#leave(stream));
    stream.send(providerReadyFrame);
  }

  /** Nothing more is sent to the stream; it has closed, or is about to end. */
  #leave(stream: EventStream): void {
    const { group } = stream;
    this.#open.delete(stream.out.stream);
    this.#silent.cancel(stream);
    this.#expiring.cancel(stream);
    group.delete(stream);
    if (group.size === 0) this.#groups.delete(group.text);
  }
}

/** One client's stream. */
class EventStream implements EventSubscriber {
  readonly out: ResponseStream;
  pending: PendingChanges | undefined;
  readonly group: EventGroup;
  readonly #silent: Deadlines<EventStream>;
  readonly #onWritten: (error?: Error) => void;
  #isWriting = false;

  constructor(out: ResponseStream, group: EventGroup, silent: Deadlines<EventStream>) {
    this.out = out;
    this.group = group;
    this.#silent = silent;
    this.#onWritten = (error) => {
      this.#isWriting = false;
      if (error === undefined) group.catchUp(this);
    };
  }

  get isIdle(): boolean {
    return !this.#isWriting;
  }

  send(frame: Buffer): void {
    this.#isWriting = true;
    this.#silent.start(this);
    this.out.write(frame, this.#onWritten);
  }

  keepAlive(): void {
    if (this.isIdle) this.send(keepAliveFrame);
    else this.#silent.start(this);
  }
}
