import type { TopicKey } from "@bunting/protocol";
import { RawSyncConnection, type RawSyncStream } from "../../support/raw-sync-client.js";
import type { TopicHistory } from "./flag-history.js";
import type { Replica } from "./replica.js";
import type { Subscriber } from "./subscriber.js";

interface Connection {
  readonly connection: RawSyncConnection;
  readonly stream: RawSyncStream;
  readonly replica: Replica;
  /** The oldest version it may receive. */
  readonly since: number;
}

/** A client of flagd.sync.v1, which sends nothing after its request. */
export class StockSubscriber implements Subscriber {
  readonly #topic: TopicKey;
  readonly #history: TopicHistory;
  readonly #windowBytes: number;
  #open: Connection | undefined;

  constructor(topic: TopicKey, history: TopicHistory, windowBytes: number) {
    this.#topic = topic;
    this.#history = history;
    this.#windowBytes = windowBytes;
  }

  async connect(replica: Replica): Promise<void> {
    this.#disconnect();
    if (replica.source === undefined) return;
    const connection = await RawSyncConnection.open(replica.port, this.#windowBytes);
    const since = replica.source.newestTold(this.#topic);
    this.#open = { connection, stream: connection.subscribe(this.#topic), replica, since };
  }

  look(): Promise<void> {
    this.#judge();
    return Promise.resolve();
  }

  stall(): void {
    this.#open?.stream.pause();
  }

  resume(): void {
    this.#open?.stream.resume();
  }

  hush(): void {
    // It never answers.
  }

  answer(): void {
    // It never answers.
  }

  answerLate(): void {
    // It never answers.
  }

  lose(replica: Replica): void {
    if (this.#open?.replica === replica) this.#disconnect();
  }

  advance(): void {
    // It has no clock.
  }

  get isLost(): boolean {
    const stream = this.#open?.stream;
    return stream === undefined || stream.status !== undefined || stream.resetCode !== undefined;
  }

  get isAtNewest(): boolean {
    return this.#open?.stream.last === this.#history.last?.text;
  }

  describe(): string {
    const { stream } = this.#open ?? {};
    return `a stock client with a window of ${this.#windowBytes}, ${stream?.versions.length} documents, status ${stream?.status}`;
  }

  leave(): Promise<void> {
    this.#disconnect();
    return Promise.resolve();
  }

  #disconnect(): void {
    this.#open?.connection.close();
    try {
      this.#judge();
    } finally {
      this.#open = undefined;
    }
  }

  /** The versions of the stream are whole documents, because these have no flag of the name it looks for. */
  #judge(): void {
    if (this.#open !== undefined) this.#history.judge(this.#open.stream.versions, this.#open.since);
  }
}
