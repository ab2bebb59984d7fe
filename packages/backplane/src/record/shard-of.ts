import type { TopicKey } from "@bunting/protocol";

/** The stream that announces a topic. */
export function shardOf(topic: TopicKey, shards: number): number {
  return hashText(topic) % shards;
}

/** 32 bits of a text, the same in every replica: FNV-1a, with its bits mixed so that similar names differ everywhere. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return mixBits(hash);
}

/** Each bit of the number changes half of the bits of the result. */
function mixBits(number: number): number {
  let bits = number;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
