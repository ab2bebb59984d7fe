import {
  callEnd,
  MessageArrival,
  runRenewing,
  type CallEnd,
  type StreamParts,
  type StreamTurn,
  type SyncChannel,
} from "@bunting/sync-client";
import type { SyncResponse } from "@bunting/sync-client/messages";
import { Backoff, isAborted, singleLine, sleep, type ServingContext } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";
import { adviceOnEnd } from "./advice-on-end.js";
import { connectUpstream } from "./connect-upstream.js";
import { FirstAnswer } from "./first-answer.js";
import { LinkedTopics, linesPerMinute, type OpenStream } from "./linked-topics.js";
import type { TierPath } from "./tier-path.js";
import type { UpstreamCredentials } from "./upstream-config.js";
import { refreshTopic } from "./refresh-topic.js";
import { codeOfEnd } from "./source-error-code.js";
import { callUpstream } from "./upstream-stream.js";
import { isAnswer, isOfTopic } from "./topic-message.js";
import type { UpstreamTopic } from "./upstream-topic.js";

export interface UpstreamLinkOptions {
  readonly targets: readonly string[];
  readonly credentials: UpstreamCredentials;
  readonly tierPath: TierPath;
  readonly context: ServingContext<SourceMetrics>;
  /** An upstream has accepted the stream, and can be followed. */
  readonly onOpened: () => void;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/**
 * Waits after all targets have failed: a quarter of the time that they have been away, about, so that what changed meanwhile is late by no more.
 * There are few proxies, and many agents behind each.
 */
const retry = { firstMs: 100, capMs: 2_000, factor: 1.25 };
/** The longest wait that an upstream may ask for. */
const pushbackCapMs = 10_000;
/** How long a stream lasts before it counts as healthy, so that the waits begin anew. */
const healthyMs = 10_000;
/** Time without any message about a topic, whole or in part, after which another upstream is tried. A working upstream reports staleness at least. */
const unansweredMs = 30_000;
/** Time that an upstream has to accept a new token. */
const renewalTimeoutMs = 10_000;

/**
 * One connection to one of several upstream proxies, with a stream for some of the topics. When it ends, the next proxy is
 * tried, and each topic resumes. There is more than one stream only while a new token is presented on a second one.
 */
export class UpstreamLink {
  readonly #options: UpstreamLinkOptions;
  readonly #topics: LinkedTopics;
  readonly #backoff: Backoff;
  #index: number;
  /** Open streams, the oldest first. */
  readonly #streams: OpenStream[] = [];
  /** The kind of the last log line, so that only changes are logged. */
  #logged = "";

  constructor(options: UpstreamLinkOptions) {
    const { random = Math.random, targets } = options;
    this.#options = options;
    this.#topics = new LinkedTopics(options.context);
    this.#backoff = new Backoff({ ...retry, random });
    // The proxies of this tier spread over those of the tier above.
    this.#index = Math.floor(random() * targets.length);
  }

  get size(): number {
    return this.#topics.size;
  }

  get charged(): number {
    return this.#topics.charged;
  }

  add(topic: UpstreamTopic): void {
    this.#topics.add(topic);
  }

  delete(topic: UpstreamTopic): void {
    this.#topics.delete(topic);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { context, targets, credentials } = this.#options;
    let failures = 0;
    this.#topics.awaitAnswers();
    while (!signal.aborted) {
      const target = targets[this.#index++ % targets.length] ?? "";
      const startedMs = context.clock.monotonicMs();
      const end = await this.#follow(target, signal);
      if (isAborted(signal)) break;
      this.#topics.failed(new ProxyError(codeOfEnd(end.reason), singleLine(end.message)));
      context.metrics.upstreamFailed(end.reason);
      // Part of what is new: an outage may end in something that only people can mend.
      const advice = adviceOnEnd(end, credentials);
      const what = `lost or can't reach the proxy ${target}: ${end.message}${advice === undefined ? "" : ` (${advice})`}`;
      this.#logChange("warn", `${target} ${end.reason} ${advice ?? ""}`, what);
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
    this.#topics.stop();
  }

  /** The upstream sends a version again that was refused. */
  subscribeAgain(topic: UpstreamTopic): void {
    this.#topics.subscribeAgain(topic);
  }

  /** See refreshTopic. */
  async refresh(topic: UpstreamTopic, signal: AbortSignal): Promise<boolean> {
    const { stream } = this.#topics;
    return stream?.isOpen === true && refreshTopic(stream, topic, signal);
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
      this.#topics.forgetLeft();
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
            stream = { channel, parts, send, answer: this.#firstAnswer(channel, end), isOpen: false };
            this.#streams.push(stream);
            if (this.#topics.stream === undefined) this.#topics.use(stream);
          },
          opened: () => {
            if (stream !== undefined) stream.isOpen = true;
            metrics.upstreamStreams(1);
          },
          received: (message, number, bytes) => {
            const topic = this.#topics.of(message);
            if (topic !== undefined && isAnswer(message)) stream?.answer.stop();
            const preparing = isOfTopic(message) ? topic?.prepare(message) : undefined;
            const receive = (): CallEnd | undefined => this.#receive(target, message, number, bytes);
            if (preparing !== undefined)
              return preparing.then(() => (this.#topics.stream === stream ? receive() : undefined));
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

  #firstAnswer(channel: SyncChannel, end: (end: CallEnd) => void): FirstAnswer {
    const arrival = new MessageArrival(channel);
    return new FirstAnswer(this.#options.context.clock, unansweredMs, arrival, () => {
      if (this.size === 0) return;
      const what = this.size === 1 ? "the topic" : `any of the ${this.size} topics`;
      end(callEnd("unanswered", `it has not said in ${unansweredMs / 1_000} s what ${what} is`));
    });
  }

  #takeOver(target: string): void {
    const newest = this.#streams.at(-1);
    if (newest !== this.#topics.stream) this.#topics.use(newest);
    this.#options.context.logger.info({ topics: this.size }, `presents a new token to the proxy ${target}`);
  }

  #ended(stream: OpenStream): void {
    this.#streams.splice(this.#streams.indexOf(stream), 1);
    if (this.#topics.stream === stream) this.#topics.use(this.#streams.at(-1));
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
    return isOfTopic(message) ? this.#topics.take(message, number, target) : undefined;
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
