import {
  callEnd,
  runRenewing,
  type CallEnd,
  type StreamParts,
  type StreamTurn,
  type SyncChannel,
} from "@bunting/sync-client";
import { encodeUnsubscribe, type SyncResponse } from "@bunting/sync-client/messages";
import {
  Backoff,
  isAborted,
  singleLine,
  sleep,
  type Clock,
  type Logger,
  type RateLimitedLog,
} from "@bunting/runtime";
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
import { callUpstream } from "./upstream-stream.js";
import { isAnswer, isOfTopic, type UpstreamTopic } from "./upstream-topic.js";

export interface UpstreamLinkOptions {
  readonly targets: readonly string[];
  readonly credentials: UpstreamCredentials;
  readonly tierPath: TierPath;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For lines that upstreams can cause: that of all links. */
  readonly log: RateLimitedLog;
  readonly metrics: SourceMetrics;
  /** A proxy has accepted the stream, and can be followed. */
  readonly onOpened: () => void;
  /** A number in [0, 1); injected by tests. */
  readonly random?: () => number;
}

/** Waits after all targets have failed. */
const retry = { firstMs: 300, capMs: 5_000 };
/** The longest wait that an upstream may ask for. */
const pushbackCapMs = 10_000;
/** How often it is looked whether there is room now for a document that there was none for. */
const blockedRetryMs = 30_000;
/** How long a stream lasts before it counts as healthy, so that the waits begin anew. */
const healthyMs = 10_000;
/** How long an answer may take before a topic is stale: a drain of the upstream takes less. */
const timeoutMs = 1_000;
/** How long a stream may take to bring anything of its topics before another upstream is tried: one that reads its source says at least that it can't. */
const unansweredMs = 30_000;

/** How long a topic that was left is counted: longer than an upstream keeps it (--topic-linger), unless that was changed. */
const lingerMs = 60_000;
/** How many lines of a kind are logged a minute: a proxy may have hundreds of connections, and an upstream that comes and goes ends all of them. */
const linesPerMinute = 20;
/** How long an upstream may take to accept a new token. */
const renewalTimeoutMs = 10_000;

/** One connection to one of several proxies, with a stream for some topics. When it ends, the next proxy is tried, and each topic resumes. */
export class UpstreamLink {
  readonly #options: UpstreamLinkOptions;
  readonly #topics = new Map<string, UpstreamTopic>();
  readonly #retries = new Map<string, () => void>();
  /** Topics that were left lately, with how to forget that. */
  readonly #left = new Map<string, () => void>();
  readonly #backoff: Backoff;
  #index: number;
  /** The oldest first. */
  readonly #streams: OpenStream[] = [];
  /** The one that the topics are on. */
  #used: OpenStream | undefined;
  #failure = "it has not answered yet";
  /** What was logged last. */
  #logged = "";
  #cancelTimeout: (() => void) | undefined;

  constructor(options: UpstreamLinkOptions) {
    const { random = Math.random, targets } = options;
    this.#options = options;
    this.#backoff = new Backoff({ ...retry, random });
    // Proxies on this level spread over those on the one above.
    this.#index = Math.floor(random() * targets.length);
  }

  get size(): number {
    return this.#topics.size;
  }

  /** Topics that the upstream counts as those of the connection. */
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
    const { clock, targets, metrics } = this.#options;
    let failures = 0;
    this.#awaitAnswers();
    while (!signal.aborted) {
      const target = targets[this.#index++ % targets.length] ?? "";
      const startedMs = clock.monotonicMs();
      const end = await this.#follow(target, signal);
      if (isAborted(signal)) break;
      this.#failure = singleLine(end.message);
      metrics.upstreamFailed(end.reason);
      this.#say("warn", `${target} ${end.reason}`, describeEnd(target, end));
      if (clock.monotonicMs() - startedMs >= healthyMs) {
        this.#backoff.reset();
        failures = 0;
      }
      // The next proxy is tried at once; if it was the last, all of them after a while.
      if (++failures % targets.length === 0) {
        const waitMs = Math.max(this.#backoff.next(), Math.min(end.pushbackMs ?? 0, pushbackCapMs));
        await sleep(waitMs, signal, clock);
      }
    }
    this.#cancelTimeout?.();
    for (const cancel of this.#retries.values()) cancel();
    this.#retries.clear();
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
    const cancel = this.#options.clock.after(lingerMs, forget);
    this.#left.set(name, forget);
  }

  /** One connection, until it ends. */
  async #follow(target: string, signal: AbortSignal): Promise<CallEnd> {
    const { credentials, clock, tierPath } = this.#options;
    const connection = await connectUpstream(target, credentials, clock);
    if (!("channel" in connection)) return connection;
    const { channel, partsWith, token } = connection;
    try {
      if (token === undefined) return await this.#stream(target, channel, partsWith(), undefined, signal);
      const renewal = {
        token: token.text,
        tokenFile: token.file,
        clock,
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
          this.#say(
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
   * @param accepted to be called once the upstream has accepted a stream that is to take over from another; undefined for the first
   */
  async #stream(
    target: string,
    channel: SyncChannel,
    parts: StreamParts,
    accepted: (() => void) | undefined,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const { metrics } = this.#options;
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
            // The first message to a proxy, and it comes to callers only that are known. It may show that this upstream can't be followed.
            if (message.kind === "tier" && end === undefined && !isFollowed) {
              isFollowed = true;
              this.#options.onOpened();
              if (accepted === undefined) this.#say("info", target, `follows the proxy ${target}`);
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

  /** The topics go on on this stream. */
  #use(stream: OpenStream | undefined): void {
    this.#used = stream;
    for (const topic of this.#topics.values()) {
      topic.lost();
      stream?.send(topic.subscribeMessage());
      stream?.answer.wait();
    }
    this.#awaitAnswers();
  }

  #firstAnswer(end: (end: CallEnd) => void): FirstAnswer {
    return new FirstAnswer(this.#options.clock, unansweredMs, () => {
      if (this.size === 0) return;
      const what = this.size === 1 ? "the topic" : `any of the ${this.size} topics`;
      end(callEnd("unanswered", `it has not said in ${unansweredMs / 1_000} s what ${what} is`));
    });
  }

  #takeOver(target: string): void {
    const newest = this.#streams.at(-1);
    if (newest !== this.#used) this.#use(newest);
    this.#options.logger.info({ topics: this.size }, `presents a new token to the proxy ${target}`);
  }

  #ended(stream: OpenStream): void {
    this.#streams.splice(this.#streams.indexOf(stream), 1);
    if (this.#used === stream) this.#use(this.#streams.at(-1));
  }

  #receive(target: string, message: SyncResponse, number: number, bytes: number): CallEnd | undefined {
    const { metrics, tierPath } = this.#options;
    metrics.upstreamMessage(message.kind, bytes);
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
      this.#options.log.warn(
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

  /** Asks for the document of a topic once more when there is room for it. */
  #awaitRoom(topic: UpstreamTopic): void {
    this.#later(topic, blockedRetryMs, () => {
      if (!topic.isBlockedByHeap) return;
      if (!topic.hasRoom) this.#awaitRoom(topic);
      else [encodeUnsubscribe(topic.name), topic.subscribeMessage()].forEach((one) => this.#used?.send(one));
    });
  }

  #later(topic: UpstreamTopic, delayMs: number, ask: () => void): void {
    this.#retries.set(topic.name, this.#options.clock.after(delayMs, ask));
  }

  #cancelRetry(name: string): void {
    this.#retries.get(name)?.();
    this.#retries.delete(name);
  }

  /** Topics that have no answer soon are stale until they have. */
  #awaitAnswers(): void {
    this.#cancelTimeout ??= this.#options.clock.after(timeoutMs, () => {
      this.#cancelTimeout = undefined;
      const reason = new ProxyError(
        "SOURCE_UNREADABLE",
        this.#used?.isOpen !== true
          ? `no upstream can be followed: ${this.#failure}`
          : "the upstream has not said yet what the topic is",
      );
      for (const topic of this.#topics.values()) if (topic.isUnexplained) topic.stale(reason);
    });
  }

  /** Changes only. */
  #say(level: "info" | "warn", what: string, message: string): void {
    if (this.#logged === what) return;
    this.#logged = what;
    // The upstream may have written a part of it.
    this.#options.log[level](`upstream_${level}`, { topics: this.size }, singleLine(message), linesPerMinute);
  }
}
