import { callEnd, type CallEnd } from "@bunting/sync-client";
import { encodeUnsubscribe, type SyncResponse } from "@bunting/sync-client/messages";
import { Backoff, isAborted, sleep, type Clock, type Logger } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { SourceMetrics } from "../source-metrics.js";
import { connectUpstream, type UpstreamConnection } from "./connect-upstream.js";
import type { TierPath } from "./tier-path.js";
import type { UpstreamCredentials } from "./upstream-config.js";
import { refreshTopic } from "./refresh-topic.js";
import { callUpstream } from "./upstream-stream.js";
import { isOfTopic, type UpstreamTopic } from "./upstream-topic.js";

export interface UpstreamLinkOptions {
  readonly targets: readonly string[];
  readonly credentials: UpstreamCredentials;
  readonly tierPath: TierPath;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SourceMetrics;
  /** A proxy has accepted the stream. */
  readonly onOpened: () => void;
  /** A number in [0, 1); injected by tests. */
  readonly random?: () => number;
}

/** Waits after all targets have failed. */
const retry = { firstMs: 300, capMs: 5_000 };
/** Waits before a topic that was refused is asked for again, if the upstream does not say when. */
const refusedRetryMs = 5_000;
const refusedCapMs = 60_000;
/** How long a stream lasts before it counts as healthy, so that the waits begin anew. */
const healthyMs = 10_000;
/** How long an answer may take before a topic is stale: a drain of the upstream takes less. */
const patienceMs = 1_000;

/** One connection to one of several proxies, with a stream for some topics. When it ends, the next proxy is tried, and each topic resumes. */
export class UpstreamLink {
  readonly #options: UpstreamLinkOptions;
  readonly #topics = new Map<string, UpstreamTopic>();
  readonly #retries = new Map<string, () => void>();
  readonly #backoff: Backoff;
  #index: number;
  #send: ((message: Buffer) => void) | undefined;
  #connection: UpstreamConnection | undefined;
  #failure = "it has not answered yet";
  /** What was logged last. */
  #logged = "";
  #cancelPatience: (() => void) | undefined;

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

  add(topic: UpstreamTopic): void {
    this.#topics.set(topic.name, topic);
    this.#send?.(topic.subscribeMessage());
    this.#awaitAnswers();
  }

  delete(topic: UpstreamTopic): void {
    if (this.#topics.get(topic.name) !== topic) return;
    this.#topics.delete(topic.name);
    this.#cancelRetry(topic.name);
    this.#send?.(encodeUnsubscribe(topic.name));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, targets, metrics } = this.#options;
    let failures = 0;
    this.#awaitAnswers();
    while (!signal.aborted) {
      const target = targets[this.#index % targets.length] ?? "";
      const startedMs = clock.monotonicMs();
      const end = await this.#follow(target, signal);
      if (isAborted(signal)) break;
      if (end === renewed) continue;
      this.#index++;
      this.#failure = end.message;
      metrics.upstreamFailed(end.reason);
      this.#logFailure(target, end);
      if (clock.monotonicMs() - startedMs >= healthyMs) {
        this.#backoff.reset();
        failures = 0;
      }
      // The next proxy is tried at once; if it was the last, all of them after a while.
      if (++failures % targets.length === 0)
        await sleep(Math.max(this.#backoff.next(), end.pushbackMs ?? 0), signal, clock);
    }
    this.#cancelPatience?.();
    for (const cancel of this.#retries.values()) cancel();
    this.#retries.clear();
  }

  /** See refreshTopic. */
  async refresh(topic: UpstreamTopic, signal: AbortSignal): Promise<boolean> {
    const connection = this.#connection;
    return connection !== undefined && refreshTopic(connection, topic, signal);
  }

  /** One connection, until it ends, or the token is renewed. */
  async #follow(target: string, signal: AbortSignal): Promise<CallEnd> {
    const { credentials, clock, tierPath, metrics } = this.#options;
    const connection = await connectUpstream(target, credentials, clock);
    if (!("channel" in connection)) return connection;
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const { token } = connection;
    const state = { isRenewed: false, isOpen: false };
    const watching =
      token?.file.waitForAnother(token.text, abort.signal).then((other) => {
        state.isRenewed = other !== undefined;
        if (state.isRenewed) stop();
      }) ?? Promise.resolve();
    try {
      const end = await callUpstream(
        connection.channel,
        {
          ...connection.parts,
          started: (send) => {
            this.#send = send;
            for (const topic of this.#topics.values()) send(topic.subscribeMessage());
          },
          opened: () => {
            state.isOpen = true;
            this.#connection = connection;
            metrics.upstreamStreams(1);
            this.#options.onOpened();
            this.#log("info", target, `follows the proxy ${target}`);
          },
          received: (message, number, bytes) => this.#receive(target, message, number, bytes),
        },
        abort.signal,
      );
      return state.isRenewed ? renewed : end;
    } finally {
      stop();
      signal.removeEventListener("abort", stop);
      this.#send = undefined;
      this.#connection = undefined;
      if (state.isOpen) metrics.upstreamStreams(-1);
      tierPath.fedBy(this, undefined);
      for (const topic of this.#topics.values()) topic.lost();
      this.#awaitAnswers();
      await connection.channel.close();
      await watching;
    }
  }

  #receive(target: string, message: SyncResponse, number: number, bytes: number): CallEnd | undefined {
    const { metrics, tierPath } = this.#options;
    metrics.upstreamMessage(message.kind, bytes);
    if (message.kind === "tier") {
      const refusal = tierPath.refusalOf(message);
      if (refusal !== undefined) return callEnd("loop", `${target} can't be followed: ${refusal}`);
      tierPath.fedBy(this, message);
      return undefined;
    }
    if (!isOfTopic(message)) return undefined;
    const topic = this.#topics.get(message.topic);
    if (topic === undefined) return undefined;
    this.#cancelRetry(topic.name);
    const answer = topic.take(message, number);
    if (answer !== undefined) this.#send?.(answer);
    if (message.kind === "topic_error") {
      const waitMs = message.retryAfterMs === 0 ? refusedRetryMs : message.retryAfterMs;
      const subscribe = (): void => this.#send?.(topic.subscribeMessage());
      this.#retries.set(topic.name, this.#options.clock.after(Math.min(waitMs, refusedCapMs), subscribe));
    }
    return undefined;
  }

  #cancelRetry(name: string): void {
    this.#retries.get(name)?.();
    this.#retries.delete(name);
  }

  /** Topics that have no answer soon are stale until they have. */
  #awaitAnswers(): void {
    this.#cancelPatience ??= this.#options.clock.after(patienceMs, () => {
      this.#cancelPatience = undefined;
      const reason = new ProxyError(
        "SOURCE_UNREADABLE",
        this.#send === undefined || this.#connection === undefined
          ? `no upstream can be followed: ${this.#failure}`
          : "the upstream has not said yet what the topic is",
      );
      for (const topic of this.#topics.values()) if (!topic.isAnswered) topic.stale(reason);
    });
  }

  #logFailure(target: string, { reason, message }: CallEnd): void {
    const advice = adviceOf[reason];
    const what = `lost or can't reach the proxy ${target}: ${message}${advice === undefined ? "" : ` (${advice})`}`;
    this.#log("warn", `${target} ${reason}`, what);
  }

  /** Changes only. */
  #log(level: "info" | "warn", what: string, message: string): void {
    if (this.#logged === what) return;
    this.#logged = what;
    this.#options.logger[level]({ topics: this.size }, message);
  }
}

const renewed = callEnd("renewed", "the token was renewed");

const adviceOf: Readonly<Record<string, string>> = {
  unimplemented: "it does not speak bunting.sync.v1: is it a Bunting proxy?",
  unauthenticated: "it asks who this proxy is: set --upstream-token-file, or a client certificate",
  permission_denied: "it does not let this proxy read",
};
