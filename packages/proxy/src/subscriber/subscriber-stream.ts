import type { ResponseStream, RpcStatus } from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { FrameWaiter } from "../snapshot/gzip-frame.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import { PingGate, type Gated } from "./ping-gate.js";
import type { StallWatch, Stallable } from "./stall-watch.js";
import type { Starter, StartQueue } from "./start-queue.js";

/** What all streams of a protocol have in common. */
export interface SubscriberProtocol {
  /**
   * The frame in which this protocol sends a snapshot: always the same one for the same snapshot. Undefined while it is being made;
   * then the waiter is called when it is there.
   */
  readonly frameOf: (snapshot: Snapshot, waiter: FrameWaiter) => Uint8Array | undefined;
  /** Beside those that every gRPC response has. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** The status that tells a client why its topic ended it. */
  readonly statusOf: (error: ProxyError) => RpcStatus;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  /** Ends streams whose peer does not read. */
  readonly stallWatch?: StallWatch | undefined;
  /** Says when a stream may have its first snapshot. */
  readonly startQueue?: StartQueue | undefined;
}

/**
 * The stream of one subscriber. At most one message is in flight; when its write callback fires (and, where a gate is needed, the
 * peer has answered a PING sent then), the newest snapshot is next, and those between were conflated. `drain` events are too
 * weak a signal for this: Node's own queue takes megabytes before it gives the first.
 *
 * There is one of these for each of 10,000 subscribers: it holds no bytes, and a write makes no closure.
 */
export class SubscriberStream implements Subscriber, Gated, FrameWaiter, Stallable, Starter {
  readonly #protocol: SubscriberProtocol;
  readonly #out: ResponseStream;
  #subscription: Subscription | undefined;
  #inFlight: Snapshot | undefined;
  #inFlightSince = 0;
  #isQueued = false;
  #lastStatus: RpcStatus | undefined;
  readonly #onWritten: (error?: Error) => void;

  constructor(protocol: SubscriberProtocol, out: ResponseStream) {
    this.#protocol = protocol;
    this.#out = out;
    this.#onWritten = (error) => this.#finishWrite(error);
  }

  /** Begins to serve a subscription made for this stream. */
  open(subscription: Subscription): void {
    this.#subscription = subscription;
    const { metrics, stallWatch, startQueue } = this.#protocol;
    metrics.activeStreams(1);
    stallWatch?.add(this);
    this.#out.onClose(() => this.#close());
    // At once, also if there is nothing to send yet: Rust clients give up after 5 s without.
    this.#out.sendHeaders(this.#protocol.responseHeaders);
    this.#isQueued = startQueue?.enter(this) === false;
    this.wake();
  }

  get connection(): object {
    return this.#out.stream.session;
  }

  start(): boolean {
    if (!this.#isQueued) return false;
    this.#isQueued = false;
    this.wake();
    return true;
  }

  wake(): void {
    if (this.#inFlight === undefined && !this.#isQueued) this.#writeNewest();
  }

  isStalledSince(tick: number): boolean {
    return this.#inFlight !== undefined && this.#inFlightSince <= tick;
  }

  /** By a reset: trailers would queue behind what the peer does not read. */
  cutOff(): void {
    this.#out.stream.reset("REFUSED_STREAM");
  }

  refuse(error: ProxyError): void {
    this.#out.end(this.#protocol.statusOf(error));
  }

  /** Sends the newest snapshot if it was not sent yet, then ends. A peer that does not read gets neither: it has to be reset. */
  drain(status: RpcStatus): void {
    if (this.#lastStatus !== undefined) return;
    this.#lastStatus = status;
    this.#isQueued = false;
    this.wake();
  }

  passGate(): void {
    this.#inFlight = undefined;
    this.#writeNewest();
  }

  #writeNewest(): void {
    const snapshot = this.#subscription?.take();
    if (snapshot !== undefined) {
      this.#inFlight = snapshot;
      this.#inFlightSince = this.#protocol.stallWatch?.tick ?? 0;
      this.#write(snapshot);
    } else if (this.#lastStatus !== undefined) {
      this.#subscription?.close();
      this.#out.end(this.#lastStatus);
    }
  }

  /** One that is newer by the time the frame is there waits for its turn, or a stream of edits could hold this one up for ever. */
  frameReady(): void {
    if (this.#inFlight !== undefined) this.#write(this.#inFlight);
  }

  #write(snapshot: Snapshot): void {
    const frame = this.#protocol.frameOf(snapshot, this);
    if (frame === undefined) return;
    this.#out.write(frame, this.#onWritten);
  }

  #finishWrite(error: Error | undefined): void {
    const snapshot = this.#inFlight;
    if (error !== undefined || snapshot === undefined) {
      // The stream has ended: its close is on the way.
      this.#inFlight = undefined;
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
    // How long it had been published before the subscriber came says nothing of our speed.
    const wasThere = this.#subscription?.hasSettled(snapshot.sequence) === false;
    if (wasThere) metrics.fannedOut(clock.monotonicMs() - snapshot.publishedMs);
  }

  #close(): void {
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#inFlight = undefined;
    this.#isQueued = false;
    this.#protocol.stallWatch?.delete(this);
    this.#protocol.metrics.activeStreams(-1);
  }
}
