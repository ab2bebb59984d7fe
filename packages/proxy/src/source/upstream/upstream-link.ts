import {
  callEnd,
  runRenewing,
  type CallEnd,
  type StreamParts,
  type StreamTurn,
  type SyncChannel,
} from "@bunting/sync-client";
import { encodeUnsubscribe, type SyncResponse } from "@bunting/sync-client/messages";
import { Backoff, isAborted, singleLine, sleep, type ServingContext } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";
import { connectUpstream } from "./connect-upstream.js";
import { FirstAnswer } from "./first-answer.js";
import type { OpenStream } from "./open-stream.js";
import type { TierPath } from "./tier-path.js";
import type { UpstreamCredentials } from "./upstream-config.js";
import { refusedRetryMs } from "./refused-retry.js";
import { refreshTopic } from "./refresh-topic.js";
import { describeEnd } from "./describe-end.js";
import { codeOfEnd } from "./source-error-code.js";
import { callUpstream } from "./upstream-stream.js";
import { isAnswer, isOfTopic } from "./topic-message.js";
import { resumableFirst, type UpstreamTopic } from "./upstream-topic.js";

export interface UpstreamLinkOptions {
  readonly targets: readonly string[];
  readonly credentials: UpstreamCredentials;
  readonly tierPath: TierPath;
  readonly context: ServingContext<SourceMetrics>;
  /** An upstream has accepted the stream, and can be followed. */
  readonly onOpened: () => void;
  /** A number in [0, 1); injected by tests. */
  readonly random?: () => number;
}

/**
 * Waits after all targets have failed: a quarter of the time that they have been away, about, so that what changed meanwhile is late by no more.
 * There are few proxies, and many agents behind each.
 */
const retry = { firstMs: 100, capMs: 2_000, factor: 1.25 };
/** The longest wait that an upstream may ask for. */
const pushbackCapMs = 10_000;
/** Interval at which a document that was refused for want of room is tried again. */
const blockedRetryMs = 30_000;
/** How long a stream lasts before it counts as healthy, so that the waits begin anew. */
const healthyMs = 10_000;
/** Time without an answer after which a topic is stale. A drain of the upstream takes less. */
const staleAfterMs = 1_000;
/** Time without any message about a topic after which another upstream is tried. A working upstream reports staleness at least. */
const unansweredMs = 30_000;

/** Time for which a left topic still counts: longer than an upstream keeps it by default (--topic-linger). */
const lingerMs = 60_000;
/** Limit of log lines of a kind. A proxy may have hundreds of connections, which an unsteady upstream ends together. */
const linesPerMinute = 20;
/** Time that an upstream has to accept a new token. */
const renewalTimeoutMs = 10_000;

/**
 * One connection to one of several upstream proxies, with a stream for some of the topics. When it ends, the next proxy is
 * tried, and each topic resumes. There is more than one stream only while a new token is presented on a second one.
 */
export class UpstreamLink {
  readonly #options: UpstreamLinkOptions;
  readonly #topics = new Map<string, UpstreamTopic>();
  readonly #retries = new Map<string, () => void>();
  /** Topics left lately, which the upstream may still count; each with a function that forgets it. */
  readonly #left = new Map<string, () => void>();
  readonly #backoff: Backoff;
  #index: number;
  /** Open streams, the oldest first. */
  readonly #streams: OpenStream[] = [];
  /** The stream that serves the topics. */
  #used: OpenStream | undefined;
  #failure = new ProxyError("SOURCE_UNREADABLE", "it has not answered yet");
  /** The kind of the last log line, so that only changes are logged. */
  #logged = "";
  #cancelStale: (() => void) | undefined;

  constructor(options: UpstreamLinkOptions) {
    const { random = Math.random, targets } = options;
    this.#options = options;
    this.#backoff = new Backoff({ ...retry, random });
    // The proxies of this tier spread over those of the tier above.
    this.#index = Math.floor(random() * targets.length);
  }

  get size(): number {
    return this.#topics.size;
  }

  /** Number of topics that the upstream charges to the connection. */
  get charged(): number {
    return this.#topics.size + this.#left.size;
  }

  add(topic: UpstreamTopic): void {
    this.#left.get(topic.name)?.();
    this.#topics.set(topic.name, topic);
    this.#used?.send(topic.subscribeMessage());
    this.#used?.answer.wait();
    this.#awaitAnswers();
  }

  delete(topic: UpstreamTopic): void {
    if (this.#topics.get(topic.name) !== topic) return;
    this.#topics.delete(topic.name);
    this.#cancelRetry(topic.name);
    this.#leave(topic.name);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { context, targets, credentials } = this.#options;
    let failures = 0;
    this.#awaitAnswers();
    while (!signal.aborted) {
      const target = targets[this.#index++ % targets.length] ?? "";
      const startedMs = context.clock.monotonicMs();
      const end = await this.#follow(target, signal);
      if (isAborted(signal)) break;
      this.#failure = new ProxyError(codeOfEnd(end.reason), singleLine(end.message));
      context.metrics.upstreamFailed(end.reason);
      this.#logChange("warn", `${target} ${end.reason}`, describeEnd(target, end, credentials));
      if (context.clock.monotonicMs() - startedMs >= healthyMs) {
        this.#backoff.reset();
        failures = 0;
      }
      // The next proxy is tried at once; after the last one, all of them after a wait.
      if (++failures % targets.length === 0) {
        const waitMs = Math.max(this.#backoff.next(), Math.min(end.pushbackMs ?? 0, pushbackCapMs));
        await sleep(waitMs, signal, context.clock);
      }
    }
    this.#cancelStale?.();
    for (const cancel of this.#retries.values()) cancel();
  }

  /** See refreshTopic. */
  async refresh(topic: UpstreamTopic, signal: AbortSignal): Promise<boolean> {
    const stream = this.#used;
    return stream?.isOpen === true && refreshTopic(stream, topic, signal);
  }

  #leave(name: string): void {
    if (this.#used === undefined) return;
    this.#used.send(encodeUnsubscribe(name));
    const forget = (): void => {
      cancel();
      this.#left.delete(name);
    };
    const cancel = this.#options.context.clock.after(lingerMs, forget);
    this.#left.set(name, forget);
  }

  /** One connection, until it ends. */
  async #follow(target: string, signal: AbortSignal): Promise<CallEnd> {
    const { credentials, context, tierPath } = this.#options;
    const connection = await connectUpstream(target, credentials, context.clock);
    if (!("channel" in connection)) return connection;
    const { channel, partsWith, token } = connection;
    try {
      if (token === undefined) return await this.#stream(target, channel, partsWith(), undefined, signal);
      const renewal = {
        token: token.text,
        tokenFile: token.file,
        clock: context.clock,
        answerTimeoutMs: renewalTimeoutMs,
        open: (turn: StreamTurn, until: AbortSignal): Promise<CallEnd> =>
          this.#stream(
            target,
            channel,
            partsWith(turn),
            turn.isRenewal ? (): void => turn.answered() : undefined,
            until,
          ),
        renewed: () => this.#takeOver(target),
        renewalFailed: ({ message }: CallEnd) =>
          this.#logChange(
            "warn",
            `${target} renewal`,
            `the proxy ${target} does not accept the new token, the one before is used on: ${message}`,
          ),
      };
      return await runRenewing(renewal, signal);
    } finally {
      tierPath.fedBy(this, undefined);
      for (const forget of [...this.#left.values()]) forget();
      await channel.close();
    }
  }

  /**
   * One stream, until it ends.
   *
   * @param accepted called once the upstream accepts a stream that takes over from another; undefined for the first
   */
  async #stream(
    target: string,
    channel: SyncChannel,
    parts: StreamParts,
    accepted: (() => void) | undefined,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const { metrics } = this.#options.context;
    let stream: OpenStream | undefined;
    let isFollowed = false;
    try {
      return await callUpstream(
        channel,
        {
          ...parts,
          started: (send, end) => {
            stream = { channel, parts, send, answer: this.#firstAnswer(end), isOpen: false };
            this.#streams.push(stream);
            if (this.#used === undefined) this.#use(stream);
          },
          opened: () => {
            if (stream !== undefined) stream.isOpen = true;
            metrics.upstreamStreams(1);
          },
          received: (message, number, bytes) => {
            const topic = isOfTopic(message) ? this.#topics.get(message.topic) : undefined;
            if (topic !== undefined && isAnswer(message)) stream?.answer.came();
            const preparing = isOfTopic(message) ? topic?.prepare(message) : undefined;
            const receive = (): CallEnd | undefined => this.#receive(target, message, number, bytes);
            if (preparing !== undefined)
              return preparing.then(() => (this.#used === stream ? receive() : undefined));
            const end = receive();
            // The first message to a proxy, sent to admitted callers only. It may show that the upstream can't be followed.
            if (message.kind === "tier" && end === undefined && !isFollowed) {
              isFollowed = true;
              this.#options.onOpened();
              if (accepted === undefined) this.#logChange("info", target, `follows the proxy ${target}`);
              else accepted();
            }
            return end;
          },
        },
        signal,
      );
    } finally {
      stream?.answer.stop();
      if (stream?.isOpen === true) metrics.upstreamStreams(-1);
      if (stream !== undefined) this.#ended(stream);
    }
  }

  /** Moves all topics to this stream. */
  #use(stream: OpenStream | undefined): void {
    this.#used = stream;
    for (const topic of resumableFirst(this.#topics.values())) {
      topic.lost();
      this.#cancelRetry(topic.name);
      stream?.send(topic.subscribeMessage());
      stream?.answer.wait();
    }
    this.#awaitAnswers();
  }

  #firstAnswer(end: (end: CallEnd) => void): FirstAnswer {
    return new FirstAnswer(this.#options.context.clock, unansweredMs, () => {
      if (this.size === 0) return;
      const what = this.size === 1 ? "the topic" : `any of the ${this.size} topics`;
      end(callEnd("unanswered", `it has not said in ${unansweredMs / 1_000} s what ${what} is`));
    });
  }

  #takeOver(target: string): void {
    const newest = this.#streams.at(-1);
    if (newest !== this.#used) this.#use(newest);
    this.#options.context.logger.info({ topics: this.size }, `presents a new token to the proxy ${target}`);
  }

  #ended(stream: OpenStream): void {
    this.#streams.splice(this.#streams.indexOf(stream), 1);
    if (this.#used === stream) this.#use(this.#streams.at(-1));
  }

  #receive(target: string, message: SyncResponse, number: number, bytes: number): CallEnd | undefined {
    const { context, tierPath } = this.#options;
    context.metrics.upstreamMessage(message.kind, bytes);
    if (message.kind === "tier") {
      const refusal = tierPath.refusalOf(message);
      if (refusal !== undefined)
        return callEnd(refusal.reason, `${target} can't be followed: ${refusal.message}`);
      tierPath.fedBy(this, message);
      return undefined;
    }
    if (!isOfTopic(message)) return undefined;
    const topic = this.#topics.get(message.topic);
    if (topic === undefined) return undefined;
    const answer = topic.take(message, number);
    if (!isAnswer(message)) return undefined;
    this.#cancelRetry(topic.name);
    if (answer !== undefined) this.#used?.send(answer);
    if (topic.isMismatched)
      return callEnd("mismatch", `its deltas of ${topic.name} don't lead to what it says`);
    if (topic.refusal !== undefined && message.kind !== "freshness")
      this.#options.context.log.warn(
        "upstream_refused",
        { topic: topic.name, upstream: target },
        topic.refusal,
        linesPerMinute,
      );
    if (message.kind === "topic_error") {
      const waitMs = refusedRetryMs(message.retryAfterMs);
      this.#later(topic, waitMs, () => this.#used?.send(topic.subscribeMessage()));
    }
    if (topic.isBlockedByHeap) this.#awaitRoom(topic);
    return undefined;
  }

  /** Asks for the document of a topic again when there is room for it. */
  #awaitRoom(topic: UpstreamTopic): void {
    this.#later(topic, blockedRetryMs, () => {
      if (!topic.isBlockedByHeap) return;
      if (!topic.hasRoom) this.#awaitRoom(topic);
      else [encodeUnsubscribe(topic.name), topic.subscribeMessage()].forEach((one) => this.#used?.send(one));
    });
  }

  #later(topic: UpstreamTopic, delayMs: number, ask: () => void): void {
    this.#retries.set(topic.name, this.#options.context.clock.after(delayMs, ask));
  }

  #cancelRetry(name: string): void {
    this.#retries.get(name)?.();
    this.#retries.delete(name);
  }

  /** Reports topics as stale that have no answer after a while. */
  #awaitAnswers(): void {
    this.#cancelStale ??= this.#options.context.clock.after(staleAfterMs, () => {
      this.#cancelStale = undefined;
      const reason =
        this.#used?.isOpen === true
          ? new ProxyError("SOURCE_UNREADABLE", "the upstream has not said yet what the topic is")
          : new ProxyError(this.#failure.code, `no upstream can be followed: ${this.#failure.message}`);
      for (const topic of this.#topics.values()) if (topic.isUnexplained) topic.stale(reason);
    });
  }

  /** Logs a line unless the last one was of the same kind. */
  #logChange(level: "info" | "warn", what: string, message: string): void {
    if (this.#logged === what) return;
    this.#logged = what;
    // A part of the text may come from the upstream.
    this.#options.context.log[level](
      `upstream_${level}`,
      { topics: this.size },
      singleLine(message),
      linesPerMinute,
    );
  }
}
