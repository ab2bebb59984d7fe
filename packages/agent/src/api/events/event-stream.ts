import { serverStreaming, type Method, type ResponseStream, type TransportStream } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { FlagChange } from "../../store/flag-change.js";
import { PacedStream } from "../paced-stream.js";
import { textHeader } from "../request-headers.js";
import { selectorHeader, type Selections } from "../selection.js";
import { StreamRegistry, type GroupedStream } from "../stream-registry.js";
import { keepAliveFrame, providerReadyFrame, providerShutdownFrame } from "./event-frames.js";
import { EventGroup, type EventSubscriber } from "./event-group.js";
import type { PendingChanges } from "./pending-changes.js";

export interface EventStreamOptions {
  readonly selections: Selections;
  readonly clock: Clock;
  /** `--stream-deadline`; 0 means none. */
  readonly streamDeadlineMs: number;
}

/** How long a stream may be silent before it is sent a keep_alive. */
const keepAliveMs = 20_000;

/**
 * EventStream of all three protocols: tells clients which flags changed, for their caches.
 *
 * A stream has one frame in flight. Changes that happen meanwhile are sent as one event afterwards: a client that does not read costs a
 * bounded amount of memory, and one that reads again learns of every flag that is not what it was.
 */
export class EventStreams {
  readonly #selections: Selections;
  readonly #silent: Deadlines<EventStream>;
  readonly #streams: StreamRegistry<EventStream, EventGroup>;

  constructor({ selections, clock, streamDeadlineMs }: EventStreamOptions) {
    this.#selections = selections;
    this.#silent = new Deadlines(clock, keepAliveMs, (stream) => stream.keepAlive());
    this.#streams = new StreamRegistry<EventStream, EventGroup>({
      clock,
      streamDeadlineMs,
      createGroup: (selection) => new EventGroup(selection),
      onLeave: (stream) => this.#silent.cancel(stream),
      writeLast: (stream) => stream.out.writeShared(providerShutdownFrame),
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** The EventStream method of a service, by the service's name. */
  method(service: string): Method {
    return serverStreaming({
      path: `/${service}/EventStream`,
      decode: () => undefined,
      handle: (_request, out) => this.#subscribe(out),
    });
  }

  /** Tells each stream what changed in its set. To be called after every change of the store. */
  publish(changes: Iterable<FlagChange>): void {
    for (const group of this.#streams.groups()) group.publish(changes);
  }

  /** Ends a stream, if it is an EventStream. Its connection's GOAWAY must have gone out, or the client comes back at once. */
  drain(transportStream: TransportStream): void {
    this.#streams.drain(transportStream);
  }

  /** Ends all streams, and those that still come. */
  shutdown(): void {
    this.#streams.shutdown();
  }

  #subscribe(out: ResponseStream): void {
    const selection = this.#selections.of(textHeader(out, selectorHeader));
    const stream = this.#streams.open(out, selection, (group) => new EventStream(out, group, this.#silent));
    stream?.send(providerReadyFrame);
  }
}

/** One client's stream. */
class EventStream extends PacedStream implements EventSubscriber, GroupedStream<EventGroup> {
  readonly group: EventGroup;
  pending: PendingChanges | undefined;
  readonly #silent: Deadlines<EventStream>;

  constructor(out: ResponseStream, group: EventGroup, silent: Deadlines<EventStream>) {
    super(out);
    this.group = group;
    this.#silent = silent;
  }

  override send(frame: Buffer): void {
    this.#silent.start(this);
    super.send(frame);
  }

  keepAlive(): void {
    if (this.isIdle) this.send(keepAliveFrame);
    else this.#silent.start(this);
  }

  protected override onIdle(): void {
    this.group.catchUp(this);
  }
}
