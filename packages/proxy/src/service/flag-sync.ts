import type { TopicKey } from "@bunting/protocol";
import type { Call, ResponseStream, RpcStatus, TransportStream } from "@bunting/rpc";
import { anonymousAccess, type Access, type Admission } from "../access/access.js";
import { acceptsGzip, type GzipFrame } from "../snapshot/gzip-frame.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import { SubscriberStream, type SubscriberProtocol } from "../subscriber/subscriber-stream.js";
import { firstSnapshot } from "../topic/first-snapshot.js";
import { rpcErrorOf, statusOf } from "./status-of.js";
import type { Subscribing } from "./subscribing.js";

export interface FlagSyncOptions {
  readonly subscribing: Subscribing;
  /** Time for which FetchAllFlags waits for a missing document, in ms; default 5 s, as in flagd-proxy. */
  readonly fetchTimeoutMs?: number;
  /** Sends gzip to streams that accept it; default true. */
  readonly compresses?: boolean;
}

/** The frames in which a protocol sends snapshots. */
export interface SnapshotFrames {
  readonly plain: (snapshot: Snapshot) => Uint8Array;
  readonly gzip: (snapshot: Snapshot) => GzipFrame;
}

/** More than any selector needs. A stream that sends half a request and waits keeps no more than this. */
export const maxSelectingBytes = 64 * 1024;

/** The request of every method that names a topic, in flagd.sync.v1 and sync.v1 alike. */
export interface SelectingRequest {
  readonly selector: string;
}

/** The common part of flagd.sync.v1 and sync.v1: a request becomes a subscription, served by a stream or one response. */
export class FlagSync {
  readonly #options: FlagSyncOptions;
  readonly #access: Access;
  readonly #streams = new Map<TransportStream, SubscriberStream>();

  constructor(options: FlagSyncOptions) {
    this.#options = options;
    this.#access = options.subscribing.access ?? anonymousAccess;
  }

  /** The handler of SyncFlags of a protocol that sends snapshots in these frames. */
  syncFlags(frames: SnapshotFrames): (request: SelectingRequest, out: ResponseStream) => void {
    const { compresses = true } = this.#options;
    const { context, startQueue, leftBehind } = this.#options.subscribing;
    const { clock, metrics } = context;
    const onClosed = (subscriber: SubscriberStream): void => {
      this.#streams.delete(subscriber.stream);
      this.#access.forget(subscriber);
      this.#access.forgetTopic(subscriber);
    };
    const common = { statusOf, clock, metrics, startQueue, leftBehind, onClosed };
    const plain: SubscriberProtocol = { ...common, frameOf: frames.plain };
    const gzip: SubscriberProtocol = {
      ...common,
      frameOf: (snapshot, waiter) => frames.gzip(snapshot).take(waiter),
      responseHeaders: { "grpc-encoding": "gzip" },
    };
    return (request, out) => {
      const protocol = compresses && acceptsGzip(out.header("grpc-accept-encoding")) ? gzip : plain;
      try {
        const topic = this.#topicOf(out, request);
        const admission = admitToTopic(this.#access, out, topic);
        if (admission instanceof Promise) this.#openLater(admission, topic, protocol, out);
        else this.#open(admission, topic, protocol, out);
      } catch (error) {
        throw rpcErrorOf(error);
      }
    };
  }

  /** The handler of FetchAllFlags. Returns the frame of the response, which calls share. */
  async fetchAllFlags(request: SelectingRequest, call: Call): Promise<Uint8Array> {
    const { subscribing, fetchTimeoutMs: timeoutMs = 5_000 } = this.#options;
    try {
      const topic = this.#topicOf(call, request);
      const admission = await admitToTopic(this.#access, call, topic);
      const { session: connection } = call.stream;
      const snapshot = await firstSnapshot(subscribing.topics, topic, {
        clock: subscribing.context.clock,
        timeoutMs,
        caller: call,
        connection,
      });
      // It may have been waited for, and may say itself that the caller must not read it.
      const refusal = await this.#access.authorize(admission, topic, connection);
      if (refusal !== undefined) throw refusal;
      return snapshot.fetchAllFrame;
    } catch (error) {
      throw rpcErrorOf(error);
    }
  }

  /** Ends a stream after its newest version; one whose peer does not read stays open. False for a stream of another service. */
  drain(stream: TransportStream, status: RpcStatus): boolean {
    const subscriber = this.#streams.get(stream);
    subscriber?.drain(status);
    return subscriber !== undefined;
  }

  #open(admission: Admission, topic: TopicKey, protocol: SubscriberProtocol, out: ResponseStream): void {
    const { topics, leftBehind } = this.#options.subscribing;
    const subscriber = new SubscriberStream(protocol, out, admission.identity);
    const subscription = topics.subscribe(topic, subscriber);
    leftBehind?.subscribed(topic, subscriber, undefined);
    this.#streams.set(out.stream, subscriber);
    const access = this.#access;
    access.watchAdmission(admission, subscriber);
    access.watchTopic(admission, topic, subscriber);
    subscriber.open(subscription);
  }

  #openLater(
    admission: Promise<Admission>,
    topic: TopicKey,
    protocol: SubscriberProtocol,
    out: ResponseStream,
  ): void {
    admission
      .then((settled) => {
        if (out.stream.isOpen) this.#open(settled, topic, protocol, out);
      })
      .catch((error: unknown) => out.fail(rpcErrorOf(error)));
  }

  /**
   * The topic that a request selects. The header `flagd-selector` wins over the field of the message, which is deprecated. An empty header
   * counts as absent, because an empty selector selects nothing here (for flagd it means "all flags").
   */
  #topicOf(call: Call, request: SelectingRequest): TopicKey {
    const header = call.header("flagd-selector") ?? "";
    return this.#options.subscribing.parseSelector(header === "" ? request.selector : header);
  }
}

/**
 * Admits a call that is about one topic. A promise only where access needs one.
 *
 * @throws ProxyError if the caller is refused
 */
function admitToTopic(access: Access, call: Call, topic: TopicKey): Admission | Promise<Admission> {
  const admission = access.admit(call);
  if (admission instanceof Promise)
    return admission.then((settled) => authorize(access, call, topic, settled));
  return authorize(access, call, topic, admission);
}

function authorize(
  access: Access,
  call: Call,
  topic: TopicKey,
  admission: Admission,
): Admission | Promise<Admission> {
  const refusal = access.authorize(admission, topic, call.stream.session);
  if (refusal === undefined) return admission;
  if (!(refusal instanceof Promise)) throw refusal;
  return refusal.then((settled) => {
    if (settled !== undefined) throw settled;
    return admission;
  });
}
