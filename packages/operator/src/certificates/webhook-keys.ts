import { plainKey } from "../api/webhooks.js";

/** A secret of which the paths of the webhooks are made: only who knows these is answered. */
export interface WebhookKey {
  /** 32 random bytes, in base64url; or `plainKey`. */
  readonly key: string;
  /** When it was made, in ms since 1970, as all times here. */
  readonly madeMs: number;
  /** The time from which on API servers are to call by it; absent while replicas may not have heard of it. */
  readonly usedMs?: number;
  /** The time by which API servers had been told of it; absent until then. */
  readonly toldMs?: number;
}

/** The other operator that runs in this namespace, if there is one: API servers ask both at one path, which is plain, for it knows no other. */
export type OtherAnswerer = "unknown" | "there" | "gone";

/** The keys, the oldest first. Replicas answer by each of them. */
export type WebhookKeys = readonly WebhookKey[];

/** What the leader knows when it looks at the keys. */
export interface WebhookKeyView {
  readonly nowMs: number;
  /** The key by which this process last told all API servers to call; undefined before the first. */
  readonly appliedKey: string | undefined;
  readonly other: OtherAnswerer;
  readonly create: () => string;
}

/** The other replicas hear of a new key by a watch, and API servers of the paths. */
export const keySettleMs = 60_000;
/** For how long an old key is still answered once API servers were told of the next one. */
export const keyOverlapMs = 600_000;
export const keyLifeMs = 90 * 86_400_000;
/** Whoever deletes the Secret again and again makes a new one each time. */
const maxKeys = 4;

/**
 * The keys as they should be now; the same array if nothing is to change. Call it again after each change, and when `webhookKeysDueMs` has come.
 *
 * | keys | when | then |
 * | --- | --- | --- |
 * | none | it is not known whether another operator answers | none |
 * | none | another operator answers | plain used |
 * | none | no other operator answers | A used: nothing could be answered before |
 * | plain | the other operator is gone | plain, A |
 * | A told | its life is over | A told, B |
 * | A told, B | `keySettleMs` later | A told, B used |
 * | A told, B used | API servers were told of B | A told, B told |
 * | A told, B told | `keyOverlapMs` later | B told |
 */
export function nextWebhookKeys(
  keys: WebhookKeys,
  { nowMs, appliedKey, other, create }: WebhookKeyView,
): WebhookKeys {
  const newest = keys.at(-1);
  if (newest === undefined) {
    if (other === "unknown") return keys;
    return [{ key: other === "there" ? plainKey : create(), madeMs: nowMs, usedMs: nowMs }];
  }
  if (nowMs >= newest.madeMs + keyLifeMs || (newest.key === plainKey && other === "gone"))
    return [...keys.slice(1 - maxKeys), { key: create(), madeMs: nowMs }];
  const replaceNewest = (change: Partial<WebhookKey>): WebhookKeys => [
    ...keys.slice(0, -1),
    { ...newest, ...change },
  ];
  if (newest.usedMs === undefined)
    return nowMs >= newest.madeMs + keySettleMs ? replaceNewest({ usedMs: nowMs }) : keys;
  if (newest.toldMs === undefined) return appliedKey === newest.key ? replaceNewest({ toldMs: nowMs }) : keys;
  return keys.length > 1 && nowMs >= newest.toldMs + keyOverlapMs ? [newest] : keys;
}

/** The keys after the Secret was lost, by those that this process still knows: API servers call by these until they hear of the next one. */
export function webhookKeysAfterLoss(known: WebhookKeys, { nowMs, create }: WebhookKeyView): WebhookKeys {
  return known.length === 0 ? [] : [...known.slice(1 - maxKeys), { key: create(), madeMs: nowMs }];
}

/** The next time at which something is to change by itself; Infinity: never. */
export function webhookKeysDueMs(keys: WebhookKeys): number {
  const newest = keys.at(-1);
  if (newest === undefined) return Infinity;
  const { madeMs, usedMs, toldMs = Infinity } = newest;
  const nextMs =
    usedMs === undefined ? madeMs + keySettleMs : keys.length > 1 ? toldMs + keyOverlapMs : Infinity;
  return Math.min(nextMs, madeMs + keyLifeMs);
}

/** The key by which API servers are to call; undefined while there is none. */
export function callingKey(keys: WebhookKeys): string | undefined {
  return (keys.findLast(({ usedMs }) => usedMs !== undefined) ?? keys[0])?.key;
}
