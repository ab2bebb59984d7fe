import type { TopicKey } from "@bunting/protocol";
import { Backoff, RateLimitedLog, sleep, type Runnable, type Context } from "@bunting/runtime";
import { fromRedisError } from "../connection/redis-error.js";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";
import { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import type { InterestRequest } from "../interest/interest.js";
import { isPosition, type RecordPosition } from "../record/position.js";
import { readStreamAnswer, type AnsweredEntry } from "./stream-answer.js";
import { tailsScript } from "./announcement-scripts.js";
import { ShardCursor, type Tail } from "./shard-cursor.js";

export interface AnnouncementReaderOptions {
  readonly options: CheckedOptions;
  readonly keys: Keys;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Called for each announcement, in the order of the topic. */
  readonly onAnnounced: (topic: TopicKey, position: RecordPosition) => void;
  /** Called for each request of a replica to the owner of a topic. */
  readonly onRequest?: (topic: TopicKey, request: InterestRequest) => void;
  /**
   * Called when announcements may have been missed: at the start, after a gap, and repeatedly while none can be read.
   * Positions have to be compared then.
   */
  readonly onGap: () => void;
}

/** The most announcements of one read, of all shards together. */
const entriesOfRead = 4_096;
/** Longest wait of one read, and so the longest time without proof that the connection works. */
const blockMs = 5_000;
/** Wait after a read that found nothing and did not block either. */
const notBlockedMs = 100;
const backoff = { firstMs: 100, capMs: 2_000 };

/** Reads the announcements of all shards. Reads block in Redis until there is one, so the reader has its own connection. */
export class AnnouncementReader implements Runnable {
  readonly name = "announcements";
  readonly #options: AnnouncementReaderOptions;
  readonly #connection: RedisConnection;
  readonly #shards: readonly number[];
  /** Undefined until the end of each stream was read for the first time. */
  #cursors: readonly ShardCursor[] | undefined;
  /** Shards whose key holds a stream; other software may have written something else there. */
  #readable: readonly number[] = [];
  #entriesAtOnce: number;
  readonly #log: RateLimitedLog;
  /** Time of the next comparison with the ends of the streams. */
  #checkTailsMs = 0;
  #failure: BackplaneError | undefined;

  constructor(options: AnnouncementReaderOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
    this.#connection = new RedisConnection({
      ...options,
      clientName: "bunting-announcements",
      // Another connection may lead to another Redis.
      onChange: () => (this.#checkTailsMs = 0),
    });
    this.#shards = Array.from({ length: options.options.shards }, (_, shard) => shard);
    this.#entriesAtOnce = this.#mostAtOnce;
  }

  /** The error because of which no announcement can be read; undefined while they can be read. */
  get failure(): BackplaneError | undefined {
    return this.#failure && (this.#connection.reason ?? this.#failure);
  }

  /** Of each shard in one read. */
  get #mostAtOnce(): number {
    return Math.floor(entriesOfRead / this.#shards.length);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#connection.run(signal), this.#read(signal)]);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const waits = new Backoff(backoff);
    const { clock } = this.#options.context;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      try {
        const cursors = await this.#checkTails();
        await this.#readOnce(cursors, signal).catch((error: unknown) => {
          this.#readLess();
          throw error;
        });
        this.#entriesAtOnce = this.#mostAtOnce;
        this.#failure = undefined;
        waits.reset();
      } catch (error) {
        const failure = fromRedisError(error);
        const { code, message } = failure;
        // The connection logs its own end.
        if (code !== "REDIS_AWAY" && this.#connection.isUp)
          this.#log.warn("read", { code, reason: message }, "announcements can't be read");
        // Announcements are missed from here on, except before the first connection.
        const isMissing = this.#cursors !== undefined || code === "REDIS_TIMEOUT";
        if (isMissing && !isOver()) {
          this.#failure = failure;
          this.#options.onGap();
        }
        await sleep(waits.next(), signal, clock);
      }
    }
  }

  /** Reads one by one after an error, and then skips to the end: an entry may be too large to read. */
  #readLess(): void {
    if (this.#entriesAtOnce === 1) this.#cursors = undefined;
    else this.#entriesAtOnce = 1;
  }

  /** Compares the cursors with the ends of the streams, every `compareMs` and with each new connection. */
  async #checkTails(): Promise<readonly ShardCursor[]> {
    const { options, onGap } = this.#options;
    const { clock } = this.#options.context;
    if (this.#cursors !== undefined && clock.monotonicMs() < this.#checkTailsMs) return this.#cursors;
    const checkTailsMs = clock.monotonicMs() + options.compareMs;
    const tails = await this.#readTails();
    this.#checkTailsMs = checkTailsMs;
    this.#readable = this.#shards.filter((shard) => tails[shard]?.id !== "");
    if (this.#readable.length < tails.length)
      this.#log.warn(
        "other",
        { streams: tails.length - this.#readable.length },
        "keys of announcements hold something else than a stream: edits of their topics come late until these keys are deleted",
      );
    const before = this.#cursors;
    this.#cursors ??= tails.map((tail) => new ShardCursor(tail));
    const isGap =
      before === undefined || tails.map((tail, shard) => before[shard]?.meet(tail)).includes(false);
    if (isGap) onGap();
    return this.#cursors;
  }

  async #readTails(): Promise<readonly Tail[]> {
    const { keys } = this.#options;
    const names = this.#shards.flatMap((shard) => [keys.announcements(shard), keys.announced(shard)]);
    const answer = await this.#connection.evaluate(tailsScript, names, []);
    return this.#shards.map((shard) => ({
      id: answer[2 * shard] ?? "",
      number: Number(answer[2 * shard + 1]),
    }));
  }

  async #readOnce(cursors: readonly ShardCursor[], signal: AbortSignal): Promise<void> {
    const { keys, options } = this.#options;
    const { clock } = this.#options.context;
    const waitMs = Math.max(1, Math.min(blockMs, Math.ceil(this.#checkTailsMs - clock.monotonicMs())));
    const read = this.#readable.flatMap((shard) => cursors[shard] ?? []);
    const streams = this.#readable.map((shard) => keys.announcements(shard));
    const ids = read.map(({ id }) => (id === "" ? "0-0" : id));
    if (streams.length === 0) throw new BackplaneError("REDIS_FAILED", "no stream can be read");
    const args = ["BLOCK", waitMs, "COUNT", this.#entriesAtOnce, "STREAMS", ...streams, ...ids];
    const sentMs = clock.monotonicMs();
    const answer = await this.#connection.call("XREAD", args, waitMs + options.commandTimeoutMs);
    const answered = readStreamAnswer(answer);
    for (const [stream, entries] of answered) {
      const cursor = read[streams.indexOf(stream)];
      if (cursor !== undefined) this.#take(cursor, entries);
    }
    // What stands in front of Redis may not let commands wait: it would be asked ten thousand times a second.
    const isEarly = answered.length === 0 && clock.monotonicMs() - sentMs < waitMs / 2;
    if (isEarly) await sleep(notBlockedMs, signal, clock);
  }

  #take(cursor: ShardCursor, entries: readonly AnsweredEntry[]): void {
    const { onAnnounced, onRequest, onGap } = this.#options;
    /** Requests of this read; repeated ones are passed on once. */
    const requests = new Set<string>();
    for (const { id, fields } of entries) {
      const { topic, epoch, version, number, asks } = fields;
      const position = { epoch: Number(epoch), resourceVersion: version ?? "" };
      const isNext = cursor.advance({ id, number: Number(number) });
      if (topic !== undefined && isPosition(position)) onAnnounced(topic as TopicKey, position);
      const request = `${asks ?? ""} ${topic ?? ""}`;
      if (topic !== undefined && (asks === "watch" || asks === "refresh") && !requests.has(request))
        onRequest?.(topic as TopicKey, asks);
      requests.add(request);
      if (!isNext) onGap();
    }
  }
}
