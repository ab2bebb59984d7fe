import { hash } from "node:crypto";
import type { TopicKey } from "@bunting/protocol";

/** The stream that announces a topic. Replicas of two releases that choose differently hear each other all the same: each reads all streams. */
export function shardOf(topic: TopicKey, shards: number): number {
  return hash("sha256", topic, "buffer").readUInt32BE() % shards;
}
