import { streamBytes, type AccountBook, type EvictionListener, type OpenAccount } from "@bunting/http2";
import {
  bytesOrder,
  endsInstead,
  nextReplaced,
  quietOrder,
  type Evictables,
  type Replaceable,
} from "./eviction-order.js";
import {
  Account,
  connectionBytes,
  ordinaryBytes,
  ordinaryRequestBytes,
  excessBytes,
  type Activity,
  type AddressShare,
  type Ledger,
} from "./peer-account.js";

const mebibyte = 1024 * 1024;
/** Size from which released memory counts for `onReleased`. V8 collects smaller pieces soon enough by itself. */
const largeBytes = 16 * 1024;
/** Part of a budget down to which an eviction goes, so that the next charge does not start another one. */
const enoughShare = 7 / 8;
/** For how long a refusal is reported: clients try again within seconds. */
const latelyMs = 30_000;
/** Part of the budget that evicted connections may hold, in addition to it, until they have closed. */
const endingShare = 1 / 8;
/**
 * The ledger of the memory that peers make this process hold: an account for each connection, and two budgets. _Total_ bounds
 * all bytes. _Excess_ bounds the bytes beyond 64 KiB a connection, by 40 MiB, but 1/25 to 1/2 of total: a few greedy
 * connections end long before they use up the memory of thousands of ordinary ones. eviction-order.ts computes the order in
 * which connections end:
 *
 * | Case                | `replaceable` | Order                                                                              |
 * | ------------------- | ------------- | ---------------------------------------------------------------------------------- |
 * | no room for another | none          | none ends; the new one is refused                                                  |
 * |                     | idle, any     | quiet ones of the address with the most bytes; busy ones (`any`); protected newest |
 * |                     | idle          | the newest of an address with over half of total, for one with less than half of that |
 * | over total          | idle          | as in the row above, in place of one of another address                            |
 * | over total          | idle, any     | quiet ones as above, while they hold over half of total; then as over excess       |
 * | over excess         | none, idle    | the most excess; among equals the newest                                           |
 * |                     | any           | idle, streaming, busy                                                              |
 *
 * `idle` ones have no request, `streaming` ones only streams of events: both are _quiet_. In each kind, the first to become so
 * goes first. With `any` that is the oldest and not the greediest: the probe of a kubelet is always among the newest.
 *
 * Invariants:
 * - Evictions go on until 1/8 of the exceeded budget is free. But a connection without excess ends only over total. One with
 *   at most one stream (`idleBytes`) ends only because it is quiet, or in place of one of another address.
 * - `#bytes` and `#excessBytes` are sums over `#accounts`. An evicted account leaves them at once, and counts as `#endingBytes`
 *   until it has closed: up to 1/8 of total may be ending with time to tell the client why.
 * - No connection ends in the middle of a charge: evictions happen in the next tick, or in `makeRoom`.
 * - If evictions leave total exceeded, there is nothing left to evict: the next attempt waits for `#unevictableBytes`.
 *
 * The acceptor of a connection calls `makeRoom`, then `open`, and closes the account when the connection has closed. `open` itself refuses nobody.
 */
export class PeerMemory implements AccountBook {
  readonly budgetBytes: number;
  readonly #maxExcessBytes: number;
  readonly #ledger: Ledger = {
    changed: (before, after) => this.#changed(before, after),
    turned: (account, before) => this.#turned(account, before),
    endingChanged: (bytes) => (this.#endingBytes += bytes),
    discarded: (bytes) => (this.#discardedBytes += bytes),
    released: (bytes) => this.#released(bytes),
    closed: (account) => this.#forget(account),
  };
  /** All open accounts, the oldest first. */
  readonly #accounts = new Set<Account>();
  /** Replaceable accounts by activity; in each set, the account that took up its activity first comes first. */
  readonly #replaceableSets: Readonly<Record<Activity, Set<Account> | undefined>>;
  /** The same, as the order of evictions sees them. */
  readonly #evictables: Evictables<Account>;
  readonly #shares = new Map<string, AddressShare>();
  #opened = 0;
  #bytes = 0;
  #discardedBytes = 0;
  #excessBytes = 0;
  #onReleased: ((bytes: number) => void) | undefined;
  /** Bytes of connections that were evicted and have not closed. */
  #endingBytes = 0;
  #isEvictionDue = false;
  /** Bytes from which evictions are tried again, a little more than they left the last time; 0 while total is not exceeded. */
  #unevictableBytes = 0;
  #refusedMs = Number.NEGATIVE_INFINITY;
  readonly #nowMs: () => number;

  /** @param maxExcessBytes bounds the sum of the bytes that each connection holds beyond an ordinary one */
  constructor(
    budgetBytes: number,
    replaceable: Replaceable = "none",
    maxExcessBytes = Math.max(budgetBytes / 25, Math.min(budgetBytes / 2, 40 * mebibyte)),
    nowMs = () => performance.now(),
  ) {
    this.#nowMs = nowMs;
    this.budgetBytes = budgetBytes;
    this.#replaceableSets = {
      idle: replaceable === "none" ? undefined : new Set(),
      streaming: replaceable === "none" ? undefined : new Set(),
      busy: replaceable === "any" ? new Set() : undefined,
    };
    this.#maxExcessBytes = maxExcessBytes;
    this.#evictables = {
      budgetBytes,
      replaceable,
      all: this.#accounts,
      byActivity: this.#replaceableSets,
      shares: this.#shares,
      newest: () => this.#opened,
    };
  }

  /** Number of streams that one connection may have open: together they take half of the excess budget. */
  get streamsPerConnection(): number {
    const perStreamBytes = streamBytes + ordinaryRequestBytes;
    return Math.min(1_000, Math.max(100, Math.floor(this.#maxExcessBytes / 2 / perStreamBytes)));
  }

  /** Bytes of all connections now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Estimated garbage of all requests and connections that have ended since the start. Only full collections of V8 free it. */
  get discardedBytes(): number {
    return this.#discardedBytes;
  }

  /**
   * Calls the listener with the size of each large piece that is released. Such pieces are garbage outside of V8's heap, and V8 lets more of it
   * accumulate than a small container has memory. The releasing code may still use the piece: it can be collected from the next turn on.
   */
  onReleased(listener: (bytes: number) => void): void {
    this.#onReleased = listener;
  }

  /** True while another connection would exceed the budget. */
  get isFull(): boolean {
    return !this.#hasRoom(connectionBytes);
  }

  /** True if a new connection was refused lately: there was no room, and no connection to end for it. */
  get refusesNew(): boolean {
    return this.#nowMs() - this.#refusedMs < latelyMs;
  }

  /** Makes room for a new connection of so many bytes by evicting others. False if there is still no room for it. */
  makeRoom(address = "", bytes = connectionBytes): boolean {
    if (!this.#hasRoom(bytes) && this.#isExceeded) this.#evictToBudgets();
    while (!this.#hasRoom(bytes)) {
      const replaced = nextReplaced(this.#evictables, this.#shares.get(address)?.bytes ?? 0);
      if (replaced === undefined) {
        this.#refusedMs = this.#nowMs();
        return false;
      }
      this.#evict(replaced);
    }
    return true;
  }

  /**
   * Opens the account of a connection, and charges the connection itself.
   *
   * @param end called at most once, to end the connection because memory is short; with `hasTime`, the peer may first be
   *   sent the reason. The account no longer counts when it is called.
   * @param address of the peer
   * @param baseBytes of the connection itself
   */
  open(end: EvictionListener, address = "", baseBytes = connectionBytes): OpenAccount {
    const number = ++this.#opened;
    const account = new Account(end, this.#ledger, { share: this.#shareOf(address), number, baseBytes });
    this.#accounts.add(account);
    this.#turned(account, account.activity);
    account.charge(baseBytes);
    return account;
  }

  /** Opens an account without effect, for a connection that is being refused. */
  openUncounted(): OpenAccount {
    const account = this.open(() => undefined);
    account.close();
    return account;
  }

  #hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.budgetBytes;
  }

  #shareOf(address: string): AddressShare {
    let share = this.#shares.get(address);
    if (share === undefined)
      this.#shares.set(address, (share = { address, bytes: 0, accounts: 0, replaceable: 0 }));
    share.accounts++;
    return share;
  }

  #changed(beforeBytes: number, afterBytes: number): void {
    this.#bytes += afterBytes - beforeBytes;
    this.#excessBytes += excessBytes(afterBytes) - excessBytes(beforeBytes);
    if (this.#bytes <= this.budgetBytes) this.#unevictableBytes = 0;
    if (this.#isEvictionDue || !this.#isExceeded) return;
    this.#isEvictionDue = true;
    // The eviction waits for the next tick: the code that charges may be using the connection that has to end.
    process.nextTick(() => this.#evictToBudgets());
  }

  get #isExceeded(): boolean {
    return (
      this.#excessBytes > this.#maxExcessBytes ||
      this.#bytes > Math.max(this.budgetBytes, this.#unevictableBytes)
    );
  }

  #evictToBudgets(): void {
    this.#isEvictionDue = false;
    if (!this.#isExceeded) return;
    const enoughBytes = this.budgetBytes * enoughShare;
    if (this.#bytes > this.budgetBytes) this.#evictQuiet(enoughBytes);
    const enoughExcessBytes = this.#maxExcessBytes * enoughShare;
    for (const account of bytesOrder(this.#evictables)) {
      if (this.#bytes <= enoughBytes && this.#excessBytes <= enoughExcessBytes) return;
      const isOverTotal = this.#bytes > this.budgetBytes;
      if (!account.isCounted || (account.bytes <= ordinaryBytes && !isOverTotal)) continue;
      const instead = isOverTotal ? endsInstead(this.#evictables, account.share.bytes) : undefined;
      this.#evict(instead ?? account);
    }
    if (this.#bytes > this.budgetBytes) this.#unevictableBytes = this.#bytes + this.budgetBytes / 64;
  }

  /** Evicts quiet connections while they hold over half of the budget, because they are then the cause. */
  #evictQuiet(enoughBytes: number): void {
    const quiet = quietOrder(this.#evictables);
    let quietBytes = quiet.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const account of quiet) {
      if (this.#bytes <= enoughBytes || quietBytes <= this.budgetBytes / 2) return;
      quietBytes -= account.bytes;
      this.#evict(account);
    }
  }

  #evict(account: Account): void {
    const endingBytes = this.#endingBytes + account.bytes;
    account.evict(this.#endingBytes === 0 || endingBytes <= this.budgetBytes * endingShare);
  }

  #released(bytes: number): void {
    if (bytes >= largeBytes) this.#onReleased?.(bytes);
  }

  #turned(account: Account, before: Activity): void {
    if (this.#replaceableSets[before]?.delete(account) === true) account.share.replaceable--;
    this.#replaceableSets[account.activity]?.add(account);
    if (this.#replaceableSets[account.activity] !== undefined) account.share.replaceable++;
  }

  #forget(account: Account): void {
    if (!this.#accounts.delete(account)) return;
    if (this.#replaceableSets[account.activity]?.delete(account) === true) account.share.replaceable--;
    this.#bytes -= account.bytes;
    account.share.bytes -= account.bytes;
    if (--account.share.accounts === 0) this.#shares.delete(account.share.address);
    this.#excessBytes -= excessBytes(account.bytes);
  }
}
