import type { TopicKey } from "@bunting/protocol";
import { Backoff, RateLimitedLog, sleep, type Runnable, type Context } from "@bunting/runtime";
import { fromRedisError } from "../connection/redis-error.js";
import { BackplaneError } from "../backplane-error.js";
import type { CheckedOptions } from "../backplane-options.js";
import { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import type { InterestRequest } from "../interest/interest.js";
import { texts } from "../lease/leases.js";
import { isPosition, type RecordPosition } from "../record/position.js";
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

/** The most announcements of each shard in one read. */
const entriesAtOnce = 256;
/** Longest wait of one read, and so the longest time without proof that the connection works. */
const blockMs = 5_000;
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
  #entriesAtOnce = entriesAtOnce;
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
  }

  /** The error because of which no announcement can be read; undefined while they can be read. */
  get failure(): BackplaneError | undefined {
    return this.#failure && (this.#connection.reason ?? this.#failure);
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
        await this.#readOnce(cursors).catch((error: unknown) => {
          this.#readLess();
          throw error;
        });
        this.#entriesAtOnce = entriesAtOnce;
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
    const answer = texts(await this.#connection.evaluate(tailsScript, names, []));
    return this.#shards.map((shard) => ({
      id: answer[2 * shard] ?? "",
      number: Number(answer[2 * shard + 1]),
    }));
  }

  async #readOnce(cursors: readonly ShardCursor[]): Promise<void> {
    const { keys, options } = this.#options;
    const { clock } = this.#options.context;
    const waitMs = Math.max(1, Math.min(blockMs, Math.ceil(this.#checkTailsMs - clock.monotonicMs())));
    const read = this.#readable.flatMap((shard) => cursors[shard] ?? []);
    const streams = this.#readable.map((shard) => keys.announcements(shard));
    const ids = read.map(({ id }) => (id === "" ? "0-0" : id));
    if (streams.length === 0) throw new BackplaneError("REDIS_FAILED", "no stream can be read");
    const args = ["BLOCK", waitMs, "COUNT", this.#entriesAtOnce, "STREAMS", ...streams, ...ids];
    const answer = await this.#connection.call("XREAD", args, waitMs + options.commandTimeoutMs);
    for (const [stream, entries] of (answer ?? []) as StreamAnswer) {
      const cursor = read[streams.indexOf(String(stream))];
      if (cursor !== undefined) this.#take(cursor, entries);
    }
  }

  #take(cursor: ShardCursor, entries: StreamAnswer[number][1]): void {
    const { onAnnounced, onRequest, onGap } = this.#options;
    /** Requests of this read; repeated ones are passed on once. */
    const requests = new Set<string>();
    for (const [id, fields] of entries) {
      const { topic, epoch, version, number, asks } = readFields(fields);
      const position = { epoch: Number(epoch), resourceVersion: version ?? "" };
      const isNext = cursor.advance({ id: String(id), number: Number(number) });
      if (topic !== undefined && isPosition(position)) onAnnounced(topic as TopicKey, position);
      const request = `${asks ?? ""} ${topic ?? ""}`;
      if (topic !== undefined && (asks === "watch" || asks === "refresh") && !requests.has(request))
        onRequest?.(topic as TopicKey, asks);
      requests.add(request);
      if (!isNext) onGap();
    }
  }
}

/** Streams with their entries, each an id and its fields: name, value, name, value, …. */
type StreamAnswer = readonly (readonly [Buffer, readonly (readonly [Buffer, readonly Buffer[]])[]])[];

function readFields(fields: readonly Buffer[]): Partial<Record<string, string>> {
  const read: Partial<Record<string, string>> = {};
  for (let at = 0; at + 1 < fields.length; at += 2) read[String(fields[at])] = String(fields[at + 1]);
  return read;
}
