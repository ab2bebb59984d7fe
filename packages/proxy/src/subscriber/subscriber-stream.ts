import type {
  ResponseStream,
  RpcStatus,
  Starter,
  StartQueue,
  TransportSession,
  TransportStream,
} from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import type { Identity } from "@bunting/identity";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { FrameWaiter } from "../snapshot/gzip-frame.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { LeftBehind } from "./left-behind.js";
import { PingGate, type Gated } from "./ping-gate.js";

/** The parts that all streams of a protocol share. */
export interface SubscriberProtocol {
  /**
   * The frame of a snapshot in this protocol, always the same object for the same snapshot. Undefined while it is being
   * made; the waiter is called when it is ready.
   */
  readonly frameOf: (snapshot: Snapshot, waiter: FrameWaiter) => Uint8Array | undefined;
  /** Headers in addition to those of every gRPC response. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Status by which a stream ends that its topic refuses. */
  readonly statusOf: (error: ProxyError) => RpcStatus;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  /** Decides when a stream gets its first snapshot. */
  readonly startQueue?: StartQueue | undefined;
  readonly leftBehind?: LeftBehind | undefined;
  /** Called once, when the stream has ended. */
  readonly onClosed?: (subscriber: SubscriberStream) => void;
}

/**
 * The stream of one subscriber. At most one message is in flight. After its write callback (and, behind a gate, the answer
 * to a PING sent then) the newest snapshot is next, and those in between are conflated. `drain` events are too late a signal
 * for this: node's own queue takes megabytes before the first one.
 *
 * There may be 10,000 of these: none keeps bytes of its own, and a write makes no closure.
 */
export class SubscriberStream implements Subscriber, Gated, FrameWaiter, Starter {
  readonly identity: Identity | undefined;
  readonly #protocol: SubscriberProtocol;
  readonly #out: ResponseStream;
  #subscription: Subscription | undefined;
  #inFlight: Snapshot | undefined;
  #isQueued = false;
  #lastStatus: RpcStatus | undefined;

  constructor(protocol: SubscriberProtocol, out: ResponseStream, identity?: Identity) {
    this.identity = identity;
    this.#protocol = protocol;
    this.#out = out;
  }

  /** Starts to serve a subscription, which was made for this stream. */
  open(subscription: Subscription): void {
    this.#subscription = subscription;
    const { metrics, startQueue } = this.#protocol;
    metrics.activeStreams(1);
    this.#out.onClose(this);
    // At once, even if there is nothing to send yet: Rust clients give up after 5 s without headers.
    this.#out.sendHeaders(this.#protocol.responseHeaders);
    this.#isQueued = startQueue?.enter(this) === false;
    this.wake();
  }

  get stream(): TransportStream {
    return this.#out.stream;
  }

  get connection(): TransportSession {
    return this.stream.session;
  }

  start(): void {
    this.#isQueued = false;
    this.wake();
  }

  wake(): void {
    if (this.#inFlight !== undefined) this.#inFlight.holdFor(this.#out.stream);
    else if (!this.#isQueued) this.#writeNewest();
  }

  refuse(error: ProxyError): void {
    this.#out.end(this.#protocol.statusOf(error));
  }

  /** Sends the newest snapshot if it was not sent yet, then ends. A stream whose peer does not read has to be reset instead. */
  drain(status: RpcStatus): void {
    if (this.#lastStatus !== undefined) return;
    this.#lastStatus = status;
    this.#leaveQueue();
    this.wake();
  }

  passGate(): void {
    this.#letGo();
    this.#writeNewest();
  }

  #writeNewest(): void {
    const subscription = this.#subscription;
    const snapshot = subscription?.due;
    if (snapshot !== undefined) {
      subscription?.take(snapshot);
      this.#inFlight = snapshot;
      this.#write(snapshot);
      return;
    }
    subscription?.settle();
    if (this.#lastStatus === undefined) return;
    subscription?.close();
    this.#out.end(this.#lastStatus);
  }

  /** Writes the snapshot taken before even if there is a newer one: a series of edits must not delay the stream for ever. */
  frameReady(): void {
    if (this.#inFlight !== undefined) this.#write(this.#inFlight);
  }

  #write(snapshot: Snapshot): void {
    const frame = this.#protocol.frameOf(snapshot, this);
    if (frame === undefined) return;
    this.#out.writeShared(frame, this);
  }

  /** Called by its stream only. */
  onWritten(error?: Error): void {
    const snapshot = this.#inFlight;
    if (error !== undefined || snapshot === undefined) {
      // The stream has ended and will be closed.
      this.#letGo();
      return;
    }
    this.#observe(snapshot);
    const { session } = this.#out.stream;
    if (PingGate.isNeeded(session)) PingGate.of(session).wait(this);
    else this.passGate();
  }

  #observe(snapshot: Snapshot): void {
    const { metrics, clock } = this.#protocol;
    metrics.frameWritten();
    // The age of a snapshot from before the subscription says nothing about our speed.
    const wasThere = this.#subscription?.hasSettled(snapshot.sequence) === false;
    if (wasThere) metrics.fannedOut(clock.monotonicMs() - snapshot.publishedMs);
  }

  /** Called by the stream only. */
  onClosed(): void {
    this.#protocol.onClosed?.(this);
    if (this.#subscription !== undefined) this.#protocol.leftBehind?.leaves([this.#subscription]);
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#letGo();
    this.#leaveQueue();
    this.#protocol.metrics.activeStreams(-1);
  }

  #letGo(): void {
    this.#inFlight?.letGo(this.#out.stream);
    this.#inFlight = undefined;
  }

  #leaveQueue(): void {
    if (!this.#isQueued) return;
    this.#isQueued = false;
    this.#protocol.startQueue?.leave(this);
  }
}
