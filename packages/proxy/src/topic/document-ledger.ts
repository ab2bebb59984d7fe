import type { TopicKey } from "@bunting/protocol";
import { Counts, heapLimitBytes } from "@bunting/runtime";

/** Memory for served documents, as a share of the heap's limit, which is half of the container's. The rest is for clients, for what sources keep, and for reading the next document. */
const documentShare = 0.5;

/** How many times as much as is left free a namespace may hold. One alone gets two thirds of the whole, two get two fifths each. */
const shareOfFree = 2;

/**
 * Memory that served documents take, on the heap and beside it, by namespace. V8 ends a process whose heap is full, and whoever may write FeatureFlags of one namespace could end the
 * proxy of all. However many namespaces take what they may, something is left for the next one.
 */
export class DocumentLedger {
  readonly #mostBytes: number;
  readonly #byNamespace = new Counts<string>();
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
  }
}

export function namespaceOfTopic(topic: TopicKey): string {
  return topic.slice(0, topic.indexOf("/"));
}
