import { hash } from "node:crypto";
import type { TopicKey } from "@bunting/protocol";

/** Agents of a topic fall into so many buckets. */
export const buckets = 10_000;

/** What is kept of the name of an agent. Names are as long as agents like; this is the same for the same name everywhere. */
export function instanceOf(name: string | undefined): number | undefined {
  return name === undefined || name === "" ? undefined : hash("sha256", name, "buffer").readUInt32BE();
}

/**
 * The bucket of an agent at a topic, from 0. It depends on the two names alone, so all replicas have the agent in the same, also after it has
 * connected again; and it differs from topic to topic, so that not the same agents are the first to try everything.
 */
export function bucketOf(topic: TopicKey, instance: number): number {
  const number = hash("sha256", `${topic}\n${instance}`, "buffer").readUInt32BE();
  return Math.floor((number / 2 ** 32) * buckets);
}
