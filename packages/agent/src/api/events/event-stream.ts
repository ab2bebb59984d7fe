import { serverStreaming, type Method, type RpcStatus, type TransportStream } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { FlagChange } from "../../store/flag-change.js";
import type { CurrentFlags } from "../backend.js";
import type { Dialect } from "../dialect.js";
import type { EvaluationCodec } from "../message-codec.js";
import type { OutgoingStream } from "../outgoing-stream.js";
import { PacedStream } from "../paced-stream.js";
import { textHeader, type RequestHeaders } from "../request-headers.js";
import { selectorHeader, type Selections } from "../selection.js";
import { deadlineStatus, shutdownStatus, StreamRegistry, type GroupedStream } from "../stream-registry.js";
import { EventGroup, type EventSubscriber } from "./event-group.js";
import type { PendingChanges } from "./pending-changes.js";
import { RecentChanges } from "./recent-changes.js";
import { keepAlive, providerReady, providerShutdown, type StreamEvent } from "./stream-event.js";

export interface EventStreamOptions {
  readonly flags: CurrentFlags;
  readonly selections: Selections;
  readonly clock: Clock;
  /** `--stream-deadline`; 0 means none. */
  readonly streamDeadlineMs: number;
  /** `--recent-changes` */
  readonly recentMs: number;
}

type StreamDialect = Pick<Dialect, "service" | "hasStreamDeadlines">;

/** Silence of a stream before a keep_alive is sent. */
const keepAliveMs = 20_000;

/** How a stream ends when the time has passed that its client gave it. The client has stopped listening by then. */
export function clientDeadlineStatus({ hasStreamDeadlines }: Pick<Dialect, "hasStreamDeadlines">): RpcStatus {
  return hasStreamDeadlines ? deadlineStatus : { code: "OK", message: "" };
}

/**
 * EventStream of all dialects, over all protocols: tells clients which flags changed, for their caches.
 *
 * A stream has one frame in flight. Changes that happen meanwhile are sent as one event afterwards: a client that does not read costs a
 * bounded amount of memory, and one that reads again learns of every flag that is not what it was. A new stream begins with the changes that
 * its client may have missed while it had none.
 */
export class EventStreams {
  readonly #selections: Selections;
  readonly #silent: Deadlines<EventStream>;
  readonly #streams: StreamRegistry<EventStream, EventGroup>;
  readonly #recent: RecentChanges;
  readonly #http = new Set<OutgoingStream>();
  #isDrainingHttp = false;
  #onHttpDrained: (() => void) | undefined;

  constructor({ flags, selections, clock, streamDeadlineMs, recentMs }: EventStreamOptions) {
    this.#selections = selections;
    this.#recent = new RecentChanges(clock, flags, recentMs);
    this.#silent = new Deadlines(clock, keepAliveMs, (stream) => stream.keepAlive());
    this.#streams = new StreamRegistry<EventStream, EventGroup>({
      clock,
      streamDeadlineMs,
      createGroup: (selection) => new EventGroup(selection, this.#recent),
      onLeave: (stream) => {
        stream.leave();
        this.#silent.cancel(stream);
      },
      writeLast: (stream) => stream.out.writeShared(providerShutdown.frame(stream.codec)),
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** The EventStream method of a dialect, for native gRPC. */
  method(dialect: StreamDialect): Method {
    return serverStreaming({
      path: `/${dialect.service}/EventStream`,
      decode: () => undefined,
      handle: (_request, out) => this.#subscribe(out, dialect, "proto"),
      deadlineStatus: clientDeadlineStatus(dialect),
    });
  }

  /** Begins a stream over another protocol than native gRPC, whose selector has been checked. */
  subscribeHttp(out: OutgoingStream, dialect: StreamDialect, codec: EvaluationCodec): void {
    if (this.#isDrainingHttp) {
      out.end(shutdownStatus);
      return;
    }
    this.#subscribe(out, dialect, codec);
    this.#http.add(out);
    out.onClose(() => {
      this.#http.delete(out);
      if (this.#http.size === 0) this.#onHttpDrained?.();
    });
  }

  /** @throws RpcError INVALID_ARGUMENT for a selector that can't be parsed */
  checkSelector(headers: RequestHeaders): void {
    this.#selections.of(textHeader(headers, selectorHeader));
  }

  /** Tells each stream what changed in its set. To be called after every change of the store. */
  publish(changes: readonly FlagChange[]): void {
    this.#recent.add(changes);
    for (const group of this.#streams.groups()) group.publish(changes);
  }

  /** Ends a stream, if it is an EventStream. Its connection's GOAWAY must have gone out, or the client comes back at once. */
  drain(transportStream: TransportStream): void {
    this.#streams.drain(transportStream);
  }

  /** Ends the streams that `drain` is not called for: those of `subscribeHttp`, and those that still come. Resolves when all have closed. */
  drainHttp(): Promise<void> {
    this.#isDrainingHttp = true;
    return new Promise((resolve) => {
      this.#onHttpDrained = resolve;
      for (const { stream } of this.#http) this.#streams.drain(stream);
      if (this.#http.size === 0) resolve();
    });
  }

  /** Ends all streams, and those that still come. */
  shutdown(): void {
    this.#streams.shutdown();
  }

  #subscribe(out: OutgoingStream, { hasStreamDeadlines }: StreamDialect, codec: EvaluationCodec): void {
    const selection = this.#selections.of(textHeader(out, selectorHeader));
    const stream = this.#streams.open(
      out,
      selection,
      (group) => new EventStream(out, group, codec, this.#silent),
      hasStreamDeadlines,
    );
    stream?.sendEvent(providerReady);
  }
}

/** One client's stream. */
class EventStream extends PacedStream implements EventSubscriber, GroupedStream<EventGroup> {
  readonly group: EventGroup;
  readonly codec: EvaluationCodec;
  pending: PendingChanges | undefined;
  readonly #silent: Deadlines<EventStream>;
  #isNew = true;

  constructor(
    out: OutgoingStream,
    group: EventGroup,
    codec: EvaluationCodec,
    silent: Deadlines<EventStream>,
  ) {
    super(out);
    this.group = group;
    this.codec = codec;
    this.#silent = silent;
  }

  sendEvent(event: StreamEvent): void {
    this.#silent.start(this);
    this.send(event.frame(this.codec));
  }

  keepAlive(): void {
    if (this.isIdle) this.sendEvent(keepAlive);
    else this.#silent.start(this);
  }

  protected override onIdle(): void {
    const news = this.#isNew ? this.group.news() : undefined;
    this.#isNew = false;
    if (news === undefined) this.group.catchUp(this);
    else this.sendEvent(news);
  }
}
