import type { TransportSession } from "@bunting/rpc";
import type { FlagRejection, TopicAcks } from "../topic/topic-acks.js";
import { maxKeyCharacters } from "./agent-request.js";

/** What an agent refuses: a flag, or the whole version if `flag` is undefined. */
export type RejectedPart = Pick<FlagRejection, "digest" | "flag" | "reason">;

/**
 * The rejections that an agent has now, in place of those from before. New ones are retained first, so that those in both
 * are never dropped.
 */
export function replaceRejections(
  acks: TopicAcks | undefined,
  connection: TransportSession,
  before: ReadonlySet<FlagRejection>,
  refused: readonly RejectedPart[],
): ReadonlySet<FlagRejection> {
  const rejections = new Set<FlagRejection>();
  for (const { digest, flag, reason } of refused) {
    const rejection = acks?.reject(connection, digest, flag, reason);
    // The same flag may be named twice.
    if (rejection === undefined || rejections.has(rejection)) continue;
    rejections.add(rejection);
    acks?.retain(rejection);
  }
  for (const rejection of before) acks?.release(rejection);
  if (rejections.size > 0 !== before.size > 0) acks?.refuses(rejections.size > 0 ? 1 : -1);
  return rejections;
}

/** Number of the rejections that name a flag. */
export function flagsOf(rejections: ReadonlySet<FlagRejection>): number {
  let flags = 0;
  for (const { flag } of rejections) if (flag !== undefined) flags++;
  return flags;
}

/** A copy: a slice would keep the whole key, which may be a megabyte long. */
export function shortenedKey(key: string): string {
  return key.length <= maxKeyCharacters
    ? key
    : Buffer.from(key.slice(0, maxKeyCharacters), "utf16le").toString("utf16le");
}
