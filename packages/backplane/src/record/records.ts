import type { TopicKey } from "@bunting/protocol";
import { Semaphore, type Clock } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { fenced, type Lease } from "../lease/owner-lease.js";
import { shardOf } from "./shard-of.js";
import { isPosition, type RecordPosition } from "./position.js";
import type { RecordCodec } from "./record-codec.js";
import { confirmScript, readScript, positionsScript, topicsAtOnce, writeScript } from "./record-scripts.js";
import type { StoredRecord, TopicRecord } from "./topic-record.js";

export interface RecordsOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  readonly codec: RecordCodec;
  readonly shards: number;
  /** Approximate length of a stream. */
  readonly announcements: number;
  readonly clock: Clock;
}

/** A record that is to be confirmed. */
export type Confirmed = RecordPosition & Pick<TopicRecord, "topic" | "kind">;

/** The position of a topic in Redis, the time since an owner confirmed it, including the round trip, and whether the FeatureFlag is deleted or missing. */
export type StoredPosition = RecordPosition & { readonly confirmedAgoMs: number; readonly isAbsent: boolean };

/** Larger records are read one after the other: their bytes are outside of the heap, where no budget counts them. */
const maxReadTogetherBytes = 256 * 1024;
const dayMs = 86_400_000;
/** TTL of records without a confirmation. It is short for missing ones, because peers can make up any number of names. */
const keepMs = { document: 30 * dayMs, deleted: dayMs, missing: dayMs / 24 };

interface ReadAnswer {
  readonly askedMs: number;
  readonly answer: readonly (Buffer | number)[];
}

/** The newest record of each topic in Redis. Owners write and announce records; all replicas read them. */
export class Records {
  readonly #options: RecordsOptions;
  readonly #largeReads = new Semaphore(1);

  constructor(options: RecordsOptions) {
    this.#options = options;
  }

  /**
   * Writes and announces a record under the lease of the owner. Writes nothing, and rejects, with FENCED if the lease has
   * ended, with VERSION_OLDER if Redis holds a newer version.
   */
  async write(record: TopicRecord, lease: Lease): Promise<void> {
    const { connection, keys, codec, shards, announcements } = this.#options;
    const { topic, kind, epoch, resourceVersion } = record;
    const { body, signature } = await codec.encode(record);
    const shard = shardOf(topic, shards);
    const names = [
      keys.lease,
      keys.record(topic),
      keys.announcements(shard),
      keys.announced(shard),
      keys.fence,
    ];
    const by = [lease.holder, lease.fence];
    const args = [...by, epoch, resourceVersion, kind, body, signature, topic, announcements, keepMs[kind]];
    const [state, text = "", version] = await connection.evaluate(writeScript, names, args);
    if (state === "fenced") throw fenced(text);
    if (state === "older")
      throw new BackplaneError(
        "VERSION_OLDER",
        `Redis holds version ${version} of epoch ${text} of ${topic}, which is newer than ${resourceVersion} of ${epoch}`,
      );
  }

  /**
   * Confirms records that the owner has found unchanged. Returns the topics of which Redis holds another record or none,
   * which the owner has to write. Rejects with FENCED if the lease has ended.
   */
  async confirm(confirmed: readonly Confirmed[], lease: Lease): Promise<readonly TopicKey[]> {
    const { connection, keys } = this.#options;
    const differing: TopicKey[] = [];
    for (let at = 0; at < confirmed.length; at += topicsAtOnce) {
      const batch = confirmed.slice(at, at + topicsAtOnce);
      const names = [keys.lease, ...batch.map(({ topic }) => keys.record(topic))];
      const versions = batch.flatMap(({ epoch, resourceVersion, kind }) => [
        epoch,
        resourceVersion,
        keepMs[kind],
      ]);
      const args = [lease.holder, lease.fence, ...versions];
      const [state, ...answers] = await connection.evaluate(confirmScript, names, args);
      if (state === "fenced") throw fenced(answers[0] ?? "");
      differing.push(...batch.filter((_, index) => answers[index] !== "1").map(({ topic }) => topic));
    }
    return differing;
  }

  /** The record of a topic; undefined without one. Rejects if it can't be read or can't be trusted. */
  async read(topic: TopicKey): Promise<StoredRecord | undefined> {
    const { maxBodyBytes } = this.#options.codec;
    const small = await this.#ask(topic, Math.min(maxReadTogetherBytes, maxBodyBytes));
    const [state, bytes] = small.answer;
    if (String(state) !== "large" || Number(bytes) > maxBodyBytes) return this.#decode(topic, small);
    const read = async () => this.#decode(topic, await this.#ask(topic, maxBodyBytes));
    return this.#largeReads.run(read);
  }

  /** @param maxBytes the most bytes of a record that is to be read */
  async #ask(topic: TopicKey, maxBytes: number): Promise<ReadAnswer> {
    const { connection, keys, clock } = this.#options;
    const askedMs = clock.monotonicMs();
    const answer = await connection.evaluate(readScript, [keys.record(topic), keys.fence], [maxBytes]);
    return { askedMs, answer };
  }

  async #decode(topic: TopicKey, { askedMs, answer }: ReadAnswer): Promise<StoredRecord | undefined> {
    const { codec, clock } = this.#options;
    const [state, fence, confirmedAgo, body, signature, epoch, version, kind] = answer;
    if (String(state) === "none") return undefined;
    if (String(state) === "other")
      throw new BackplaneError(
        "RECORD_MALFORMED",
        `what is under the key of ${topic} is not a record of a replica`,
      );
    if (String(state) === "large")
      throw new BackplaneError(
        "RECORD_TOO_LARGE",
        `the record of ${topic} has ${String(fence)} bytes, and was not read`,
      );
    const record = await codec.decode(topic, { body: bytesOf(body), signature: bytesOf(signature) });
    const isAsSigned =
      String(epoch) === String(record.epoch) &&
      String(version) === record.resourceVersion &&
      String(kind) === record.kind;
    if (!isAsSigned)
      throw new BackplaneError(
        "RECORD_MALFORMED",
        `the record of ${topic} is not the version that Redis lists`,
      );
    return {
      record,
      fence: Number(fence),
      confirmedAgoMs: Number(confirmedAgo) + clock.monotonicMs() - askedMs,
    };
  }

  /** The positions of topics in Redis; topics without a record are left out. */
  async positions(topics: readonly TopicKey[]): Promise<ReadonlyMap<TopicKey, StoredPosition>> {
    const { connection, keys, clock } = this.#options;
    const positions = new Map<TopicKey, StoredPosition>();
    for (let at = 0; at < topics.length; at += topicsAtOnce) {
      const batch = topics.slice(at, at + topicsAtOnce);
      const names = [keys.fence, ...batch.map((topic) => keys.record(topic))];
      const askedMs = clock.monotonicMs();
      const answers = await connection.evaluate(positionsScript, names, []);
      const answeredInMs = clock.monotonicMs() - askedMs;
      batch.forEach((topic, index) => {
        const [epoch, resourceVersion = "", ago, absent] = answers.slice(4 * index, 4 * index + 4);
        const position = {
          epoch: Number(epoch),
          resourceVersion,
          confirmedAgoMs: Number(ago) + answeredInMs,
          isAbsent: absent === "1",
        };
        if (epoch !== "" && isPosition(position)) positions.set(topic, position);
      });
    }
    return positions;
  }
}

function bytesOf(answered: Buffer | number | undefined): Buffer {
  return Buffer.isBuffer(answered) ? answered : Buffer.alloc(0);
}
