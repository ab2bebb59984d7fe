import { excessBytes, type Activity, type AddressShare } from "./peer-account.js";

/**
 * Connections that may be evicted to make room for a new one. `idle`: those without a request, and those that have
 * only streams of events. `any`: those with other open requests too, if none of the former is left.
 */
export type Replaceable = "none" | "idle" | "any";

/** Bytes beyond its base that a connection with one stream takes. With no more, it is never evicted for the budgets. */
const idleBytes = 12 * 1024;
/** The newest 1/16 of all connections, at most 32, are protected, so they go last: room may just have been made for them. */
const maxProtectedNewest = 32;

/** A connection, as far as the order depends on it. */
export interface Evictable {
  readonly bytes: number;
  readonly baseBytes: number;
  /** A newer one has a larger number. */
  readonly number: number;
  readonly share: Readonly<AddressShare>;
}

/** All connections of a ledger. */
export interface Evictables<Of extends Evictable> {
  readonly budgetBytes: number;
  readonly replaceable: Replaceable;
  /** The oldest first. */
  readonly all: ReadonlySet<Of>;
  /** Those that may give way to a new one; in each set, the one that became so first comes first. */
  readonly byActivity: Readonly<Record<Activity, ReadonlySet<Of> | undefined>>;
  /** By address. */
  readonly shares: ReadonlyMap<string, Readonly<AddressShare>>;
  /** The number of the newest connection, open or not. */
  readonly newest: () => number;
}

/**
 * The connection that gives way to a new one, of an address that holds `ownBytes`: the first quiet one of the address with the most
 * bytes, and none of an address with less than that. Undefined if the new one has to be refused.
 */
export function nextReplaced<Of extends Evictable>(held: Evictables<Of>, ownBytes: number): Of | undefined {
  const crowding = crowdingShare(held, ownBytes);
  // Of few addresses or many, but not of ten thousand connections: an attacker makes room be looked for all the time.
  const greediest = crowding ?? greediestShare(held, ({ replaceable }) => replaceable > 0);
  if (greediest === undefined || greediest.bytes < ownBytes) return undefined;
  for (const one of quiet(held)) if (one.share === greediest) return one;
  if (crowding !== undefined) return newestOf(held, crowding);
  let next: Of | undefined;
  for (const one of quiet(held)) {
    const { bytes } = one.share;
    if (bytes >= ownBytes && (next === undefined || bytes > next.share.bytes)) next = one;
  }
  if (next !== undefined) return next;
  const { idle = [], streaming = [], busy = [] } = held.byActivity;
  const [oldestBusy] = busy;
  if (oldestBusy !== undefined) return oldestBusy;
  return [...idle, ...streaming].find(({ share }) => share === greediest);
}

/** Quiet connections, in the order in which they end while they hold most of a budget that is exceeded. */
export function quietOrder<Of extends Evictable>(held: Evictables<Of>): Of[] {
  // The sort is stable: within an address, the one that became quiet first goes first.
  return [...quiet(held)].sort((one, other) => other.share.bytes - one.share.bytes);
}

/** Connections that may end because of their bytes, in the order in which they end for either budget. */
export function bytesOrder<Of extends Evictable>({ replaceable, all, byActivity }: Evictables<Of>): Of[] {
  const isEvictable = ({ bytes, baseBytes }: Evictable): boolean => bytes > baseBytes + idleBytes;
  if (replaceable === "any") {
    const { idle = [], streaming = [], busy = [] } = byActivity;
    return [...idle, ...streaming, ...busy].filter(isEvictable);
  }
  // The sort is stable: the newest stays first among equals. All ordinary connections are equals: an application that
  // connected long ago and has two requests must not end because a thousand newer connections hold less each.
  return [...all]
    .filter(isEvictable)
    .reverse()
    .sort((one, other) => excessBytes(other.bytes) - excessBytes(one.bytes));
}

/** The connection that ends over total in place of one of an address that holds `ownBytes`; undefined if that one ends itself. */
export function endsInstead<Of extends Evictable>(held: Evictables<Of>, ownBytes: number): Of | undefined {
  const crowding = crowdingShare(held, ownBytes);
  return crowding === undefined ? undefined : newestOf(held, crowding);
}

/**
 * The address that holds over half of the budget, if that is over twice as much as `ownBytes`. All of its connections give way:
 * those that only hold their places may count as busy, as what TLS takes does while the connection is open.
 */
function crowdingShare(held: Evictables<Evictable>, ownBytes: number): Readonly<AddressShare> | undefined {
  if (held.replaceable !== "idle") return undefined;
  const most = greediestShare(held, () => true);
  return most !== undefined && most.bytes > Math.max(held.budgetBytes / 2, 2 * ownBytes) ? most : undefined;
}

function greediestShare(
  { shares }: Evictables<Evictable>,
  isEligible: (share: Readonly<AddressShare>) => boolean,
): Readonly<AddressShare> | undefined {
  let greediest: Readonly<AddressShare> | undefined;
  for (const share of shares.values())
    if (isEligible(share) && share.bytes > (greediest?.bytes ?? 0)) greediest = share;
  return greediest;
}

function newestOf<Of extends Evictable>(
  { all }: Evictables<Of>,
  wanted: Readonly<AddressShare>,
): Of | undefined {
  return [...all].findLast(({ share }) => share === wanted);
}

/** Without a request, or with streams of events only; the newest are protected. */
function* quiet<Of extends Evictable>({ all, byActivity, newest }: Evictables<Of>): Generator<Of> {
  const protectedNewest = Math.min(maxProtectedNewest, Math.floor(all.size / 16));
  for (const activity of ["idle", "streaming"] as const)
    for (const one of byActivity[activity] ?? []) if (one.number <= newest() - protectedNewest) yield one;
}
