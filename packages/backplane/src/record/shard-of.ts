import type { TopicKey } from "@bunting/protocol";
import { hashText } from "../hash-text.js";

/** The stream that announces a topic. */
export function shardOf(topic: TopicKey, shards: number): number {
  return hashText(topic) % shards;
}
