import { callEnd, type CallEnd, type StreamParts, type SyncChannel } from "@bunting/sync-client";
import { encodeUnsubscribe, type SyncResponse } from "@bunting/sync-client/messages";
import type { ServingContext } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";
import type { FirstAnswer } from "./first-answer.js";
import { isAnswer, isOfTopic, type TopicMessage } from "./topic-message.js";
import type { UpstreamTopic } from "./upstream-topic.js";

/** A stream of a connection. Topics are on one stream at a time; another one may be about to take over, with a newer token. */
export interface OpenStream {
  readonly channel: SyncChannel;
  readonly parts: StreamParts;
  readonly send: (message: Buffer) => void;
  readonly answer: FirstAnswer;
  /** The upstream has accepted the call. */
  isOpen: boolean;
}

/** Interval at which a document that was refused for want of room is tried again. */
const blockedRetryMs = 30_000;
/** Time after which a topic that the upstream refuses is asked for again, if the upstream names none; and the longest it may name. */
const refusedRetryMs = 5_000;
const longestRefusedRetryMs = 60_000;
/** Time without an answer after which a topic is stale. A drain of the upstream takes less. */
const staleAfterMs = 1_000;
/** Time for which a left topic still counts: longer than an upstream keeps it by default (--topic-linger). */
const lingerMs = 60_000;
/** Interval of reports about versions that agents try: more often than the operator looks. */
const trialReportEveryMs = 2_000;
/** Limit of log lines of a kind. A proxy may have hundreds of connections, which an unsteady upstream ends together. */
export const linesPerMinute = 20;

/**
 * The topics of a link: subscribes to them on the stream that the link uses, and asks again for those that were refused.
 * Each answers for itself; see UpstreamTopic.
 */
export class LinkedTopics {
  readonly #context: ServingContext<SourceMetrics>;
  readonly #topics = new Map<string, UpstreamTopic>();
  /** Topics that are asked for again later; each with a function that cancels this. */
  readonly #retries = new Map<string, () => void>();
  /** Topics left lately, which the upstream may still count; each with a function that forgets it. */
  readonly #left = new Map<string, () => void>();
  #stream: OpenStream | undefined;
  #failure = new ProxyError("SOURCE_UNREADABLE", "it has not answered yet");
  #cancelStale: (() => void) | undefined;
  #cancelReport: (() => void) | undefined;

  constructor(context: ServingContext<SourceMetrics>) {
    this.#context = context;
  }

  get size(): number {
    return this.#topics.size;
  }

  /** Number of topics that the upstream charges to the connection. */
  get charged(): number {
    return this.#topics.size + this.#left.size;
  }

  get stream(): OpenStream | undefined {
    return this.#stream;
  }

  add(topic: UpstreamTopic): void {
    this.#left.get(topic.name)?.();
    this.#topics.set(topic.name, topic);
    this.#subscribe(topic);
    this.awaitAnswers();
  }

  delete(topic: UpstreamTopic): void {
    if (this.#topics.get(topic.name) !== topic) return;
    this.#topics.delete(topic.name);
    this.#cancelRetry(topic.name);
    this.#leave(topic.name);
  }

  /** A version that was refused comes once more only to a new subscription. */
  subscribeAgain(topic: UpstreamTopic): void {
    for (const message of [encodeUnsubscribe(topic.name), topic.subscribeMessage()])
      this.#stream?.send(message);
  }

  /** Moves all topics to this stream. */
  use(stream: OpenStream | undefined): void {
    this.#stream = stream;
    for (const topic of resumableFirst(this.#topics.values())) {
      topic.lost();
      this.#cancelRetry(topic.name);
      this.#subscribe(topic);
    }
    this.awaitAnswers();
  }

  /** The topic that a message is about; undefined without one. */
  of(message: SyncResponse): UpstreamTopic | undefined {
    return isOfTopic(message) ? this.#topics.get(message.topic) : undefined;
  }

  /**
   * Takes a message and answers it. Returns why the stream is to end, if it is.
   *
   * @param number of the message in its stream
   */
  take(message: TopicMessage, number: number, upstream: string): CallEnd | undefined {
    const topic = this.of(message);
    if (topic === undefined) return undefined;
    const answer = topic.take(message, number);
    if (message.kind === "trial") {
      this.#reportTrials();
      if (topic.isBlockedByHeap) this.#awaitRoom(topic);
    }
    if (!isAnswer(message)) return undefined;
    this.#cancelRetry(topic.name);
    if (answer !== undefined) this.#stream?.send(answer);
    if (topic.isMismatched)
      return callEnd("mismatch", `its deltas of ${topic.name} don't lead to what it says`);
    if (topic.refusal !== undefined && message.kind !== "freshness")
      this.#context.log.warn(
        "upstream_refused",
        { topic: topic.name, upstream },
        topic.refusal,
        linesPerMinute,
      );
    if (message.kind === "topic_error") {
      const waitMs = Math.min(message.retryAfterMs || refusedRetryMs, longestRefusedRetryMs);
      this.#later(topic, waitMs, () => this.#stream?.send(topic.subscribeMessage()));
    }
    if (topic.isBlockedByHeap) this.#awaitRoom(topic);
    return undefined;
  }

  /** Reports topics as stale that have no answer after a while. */
  awaitAnswers(): void {
    this.#cancelStale ??= this.#context.clock.after(staleAfterMs, () => {
      this.#cancelStale = undefined;
      const reason =
        this.#stream?.isOpen === true
          ? new ProxyError("SOURCE_UNREADABLE", "the upstream has not said yet what the topic is")
          : new ProxyError(this.#failure.code, `no upstream can be followed: ${this.#failure.message}`);
      for (const topic of this.#topics.values()) if (topic.isUnexplained) topic.stale(reason);
    });
  }

  /** No stream could be opened, or the last one has ended, for this reason. */
  failed(reason: ProxyError): void {
    this.#failure = reason;
  }

  /** The connection has ended, and with it what the upstream counts. */
  forgetLeft(): void {
    for (const forget of [...this.#left.values()]) forget();
  }

  stop(): void {
    this.#cancelStale?.();
    this.#cancelReport?.();
    for (const cancel of this.#retries.values()) cancel();
  }

  /** Tells the upstream how versions fare that it has agents try, now and then while there are any. */
  #reportTrials(): void {
    this.#cancelReport?.();
    this.#cancelReport = undefined;
    const tried = [...this.#topics.values()].filter(({ isTried }) => isTried);
    if (tried.length === 0) return;
    for (const report of tried.flatMap((topic) => topic.trialReport() ?? [])) this.#stream?.send(report);
    this.#cancelReport = this.#context.clock.after(trialReportEveryMs, () => this.#reportTrials());
  }

  #subscribe(topic: UpstreamTopic): void {
    this.#stream?.send(topic.subscribeMessage());
    this.#stream?.answer.wait();
  }

  #leave(name: string): void {
    if (this.#stream === undefined) return;
    this.#stream.send(encodeUnsubscribe(name));
    const forget = (): void => {
      cancel();
      this.#left.delete(name);
    };
    const cancel = this.#context.clock.after(lingerMs, forget);
    this.#left.set(name, forget);
  }

  /** Asks for the document of a topic, or for the version to try, again when there is room for it. */
  #awaitRoom(topic: UpstreamTopic): void {
    this.#later(topic, blockedRetryMs, () => {
      if (!topic.isBlockedByHeap) return;
      if (!topic.hasRoom) this.#awaitRoom(topic);
      else this.subscribeAgain(topic);
    });
  }

  #later(topic: UpstreamTopic, delayMs: number, ask: () => void): void {
    this.#cancelRetry(topic.name);
    this.#retries.set(topic.name, this.#context.clock.after(delayMs, ask));
  }

  #cancelRetry(name: string): void {
    this.#retries.get(name)?.();
    this.#retries.delete(name);
  }
}

/** Those that have a document first: to them the answer is short, and clients wait for what has changed since. */
function resumableFirst(topics: Iterable<UpstreamTopic>): readonly UpstreamTopic[] {
  const all = [...topics];
  return [
    ...all.filter(({ digest }) => digest !== undefined),
    ...all.filter(({ digest }) => digest === undefined),
  ];
}
