import type { TopicKey } from "@bunting/protocol";
import { Counts, heapLimitBytes } from "@bunting/runtime";

/** Memory for served documents, as a share of the heap's limit, which is half of the container's. The rest is for clients, for what sources keep, and for reading the next document. */
const documentShare = 0.5;

/** How many times as much as is left free a namespace may hold. One alone gets two thirds of the whole, two get two fifths each. */
const shareOfFree = 2;

/** A version that there was no memory for. */
export interface WaitingVersion {
  readonly topic: TopicKey;
  /** Beside what is served in its place. */
  readonly moreBytes: number;
  /** Its memory is kept free from now on: the source is to report the version again, because nobody has kept it. Ended by `stopWaiting`. */
  readonly onRoom: () => void;
}

/**
 * Memory that served documents take, on the heap and beside it, by namespace. V8 ends a process whose heap is full, and whoever may write FeatureFlags of one namespace could end the
 * proxy of all. However many namespaces take what they may, something is left for the next one.
 */
export class DocumentLedger {
  readonly #mostBytes: number;
  readonly #byNamespace = new Counts<string>();
  /** In the order in which they were refused. */
  readonly #waiting = new Set<WaitingVersion>();
  /** Versions that were told, whose memory is kept free until they are reported. */
  readonly #offered = new Set<WaitingVersion>();
  #totalBytes = 0;

  constructor(mostBytes = heapLimitBytes() * documentShare) {
    this.#mostBytes = mostBytes;
  }

  /** True if the topic's namespace may hold so many bytes more. */
  hasRoom(topic: TopicKey, moreBytes: number): boolean {
    const held = this.#byNamespace.of(namespaceOfTopic(topic));
    const freeBytes = this.#mostBytes - this.#totalBytes - moreBytes;
    return moreBytes <= 0 || held + moreBytes <= shareOfFree * freeBytes;
  }

  /** Counts so many bytes more for the topic, or less. */
  add(topic: TopicKey, moreBytes: number): void {
    this.#byNamespace.add(namespaceOfTopic(topic), moreBytes);
    this.#totalBytes += moreBytes;
    // In a later turn: the source may be in the middle of reporting to several topics.
    if (moreBytes < 0 && this.#waiting.size > 0) queueMicrotask(() => this.#offer());
  }

  /** Tells the version once, and no more, when there is memory for it. */
  wait(version: WaitingVersion): void {
    this.#waiting.add(version);
  }

  /** It was reported again, or is not to be: what was kept free for it is for others, who wait behind it. */
  stopWaiting(version: WaitingVersion): void {
    this.#waiting.delete(version);
    if (this.#offered.delete(version)) this.add(version.topic, -version.moreBytes);
  }

  #offer(): void {
    for (const version of [...this.#waiting]) {
      const { topic, moreBytes } = version;
      if (!this.#waiting.has(version) || !this.hasRoom(topic, moreBytes)) continue;
      this.#waiting.delete(version);
      this.#offered.add(version);
      this.add(topic, moreBytes);
      version.onRoom();
    }
  }
}

export function namespaceOfTopic(topic: TopicKey): string {
  return topic.slice(0, topic.indexOf("/"));
}
