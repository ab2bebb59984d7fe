import { onNextTurn } from "@bunting/runtime";
import { streamBytes, type AccountBook, type OpenAccount } from "@bunting/http2";
import {
  Account,
  connectionBytes,
  ordinaryBytes,
  ordinaryRequestBytes,
  surplus,
  type Activity,
  type AddressShare,
  type Ledger,
} from "./peer-account.js";

/**
 * Which connections are ended for a new one when the budget is used up: `idle`, those that have waited longest for a request, or those that
 * have only streams of events; `any`, if there are none, also those whose requests have been open longest. Those of the address whose peers
 * hold the most go first.
 */
export type Replaceable = "none" | "idle" | "any";

/** A connection that holds no more than this beyond itself is never ended: it has one stream and nothing else. */
const idleBytes = 12 * 1024;
const mebibyte = 1024 * 1024;
/** What is released in smaller pieces V8 collects soon enough by itself. */
const largeBytes = 16 * 1024;
/** Of so many connections one, of those opened last, is not ended for want of memory before it could ask: it may be the one that room was made for. */
const perSparedConnection = 16;
const maxSparedConnections = 32;
/** The part of the budget that connections which are being ended may hold in addition; one may hold more. */
const endingShare = 1 / 8;
/**
 * The ledger of what peers make this process hold: one account for each connection, two bounds for all of them.
 *
 * - The budget bounds the sum. Once it is reached, new connections are to be refused (`isFull`).
 * - The surplus, that is what connections hold beyond an ordinary one, is bounded by 40 MiB (half of a smaller budget, a twenty-fifth of one
 *   above 1,000 MiB): a few greedy connections are ended long before they use up what thousands of ordinary ones may.
 *
 * Beyond either, the greediest connections are ended, then ordinary ones, the newest first among equals, until an eighth of the bound is free
 * again. Connections that hold what an idle one holds are never ended for that, unless they are replaceable and hold more than half of the
 * budget together. Where any connection is replaceable, those that have been open longest are ended instead of the greediest: a probe is
 * always among the newest. What ended connections hold until they have closed is bounded too: few at a
 * time get the time to tell their clients why.
 */
export class PeerMemory implements AccountBook {
  readonly budgetBytes: number;
  readonly #maxSurplusBytes: number;
  readonly #replaceable: Replaceable;
  readonly #ledger: Ledger = {
    changed: (before, after) => this.#changed(before, after),
    turned: (account, before) => this.#turned(account, before),
    endingChanged: (bytes) => (this.#endingBytes += bytes),
    discarded: (bytes) => (this.#discardedBytes += bytes),
    released: (bytes) => this.#released(bytes),
    closed: (account) => this.#forget(account),
  };
  /** In the order in which they were opened. */
  readonly #accounts = new Set<Account>();
  /** The accounts that are replaceable, each set in the order in which they became so. */
  readonly #replaceableSets: Readonly<Record<Activity, Set<Account> | undefined>>;
  /** What all peers with one address hold, for each address. */
  readonly #shares = new Map<string, AddressShare>();
  #opened = 0;
  #bytes = 0;
  #discardedBytes = 0;
  #surplusBytes = 0;
  #releasedBytes = 0;
  #onReleased: { readonly everyBytes: number; readonly listener: () => void } | undefined;
  /** What connections hold that are being ended. */
  #endingBytes = 0;
  #isRelieving = false;
  /** Beyond the budget, and nothing could be ended: not worth another look before the sum exceeds this. */
  #hopelessBytes = 0;

  /** @param maxSurplusBytes what connections may hold beyond an ordinary one each, in sum. */
  constructor(
    budgetBytes: number,
    replaceable: Replaceable = "none",
    maxSurplusBytes = Math.max(budgetBytes / 25, Math.min(budgetBytes / 2, 40 * mebibyte)),
  ) {
    this.budgetBytes = budgetBytes;
    this.#replaceable = replaceable;
    this.#replaceableSets = {
      idle: replaceable === "none" ? undefined : new Set(),
      streaming: replaceable === "none" ? undefined : new Set(),
      busy: replaceable === "any" ? new Set() : undefined,
    };
    this.#maxSurplusBytes = maxSurplusBytes;
  }

  /** How many streams one connection may open at once without being the greedy one that is ended: half of what all may hold. */
  get streamsPerConnection(): number {
    const perStreamBytes = streamBytes + ordinaryRequestBytes;
    return Math.min(1_000, Math.max(100, Math.floor(this.#maxSurplusBytes / 2 / perStreamBytes)));
  }

  /** What all peers hold now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** An estimate of what requests and connections that have ended left behind, since the process began. It stays until a full collection. */
  get discardedBytes(): number {
    return this.#discardedBytes;
  }

  /**
   * Calls the listener, later, whenever so many bytes more have been released in large pieces. They are garbage, most of it outside of V8's
   * heap, where V8 lets much more accumulate than a small container has memory.
   */
  onReleased(everyBytes: number, listener: () => void): void {
    this.#onReleased = { everyBytes, listener };
  }

  /** True while another connection would exceed the budget. */
  get isFull(): boolean {
    return !this.#hasRoom(connectionBytes);
  }

  /** Makes sure that another connection of so many bytes fits, by ending others that are replaceable. False if that is not enough. */
  makeRoom(bytes = connectionBytes): boolean {
    if (!this.#hasRoom(bytes) && this.#isExceeded) this.#relieve();
    while (!this.#hasRoom(bytes)) {
      const replaced = this.#nextReplaced();
      if (replaced === undefined) return false;
      this.#evict(replaced);
    }
    return true;
  }

  /**
   * Opens the account of a connection, and charges the connection itself.
   *
   * @param end is called at most once, when the connection has to be ended to free memory, and `hasTime` says whether its peer may be told
   *   why. Its account counts no longer by then.
   * @param address of the peer
   * @param baseBytes what the connection itself takes
   */
  open(end: (hasTime: boolean) => void, address = "", baseBytes = connectionBytes): OpenAccount {
    const number = ++this.#opened;
    const account = new Account(end, this.#ledger, { share: this.#shareOf(address), number, baseBytes });
    this.#accounts.add(account);
    this.#turned(account, account.activity);
    account.charge(baseBytes);
    return account;
  }

  /** Opens an account that counts for nothing, for a connection that is being refused. */
  openUncounted(): OpenAccount {
    const account = this.open(() => undefined);
    account.close();
    return account;
  }

  #hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.budgetBytes;
  }

  #changed(beforeBytes: number, afterBytes: number): void {
    this.#bytes += afterBytes - beforeBytes;
    this.#surplusBytes += surplus(afterBytes) - surplus(beforeBytes);
    if (this.#bytes <= this.budgetBytes) this.#hopelessBytes = 0;
    if (this.#isRelieving || !this.#isExceeded) return;
    this.#isRelieving = true;
    // Later, because a charge may come from the middle of anything, where a connection must not end.
    process.nextTick(() => this.#relieve());
  }

  #released(bytes: number): void {
    if (bytes < largeBytes || this.#onReleased === undefined) return;
    const { everyBytes, listener } = this.#onReleased;
    const isDue = this.#releasedBytes >= everyBytes;
    this.#releasedBytes += bytes;
    if (isDue || this.#releasedBytes < everyBytes) return;
    // Later, because what was released is often still in use by the caller.
    onNextTurn(() => {
      this.#releasedBytes = 0;
      listener();
    });
  }

  #turned(account: Account, before: Activity): void {
    this.#replaceableSets[before]?.delete(account);
    this.#replaceableSets[account.activity]?.add(account);
  }

  #shareOf(address: string): AddressShare {
    let share = this.#shares.get(address);
    if (share === undefined) this.#shares.set(address, (share = { address, bytes: 0, accounts: 0 }));
    share.accounts++;
    return share;
  }

  /** The connection that is ended for a new one: of the address that holds the most, one that is idle, or else one with streams of events. */
  #nextReplaced(): Account | undefined {
    let next: Account | undefined;
    for (const account of this.#replaceableAccounts("idle", "streaming"))
      if (next === undefined || account.share.bytes > next.share.bytes) next = account;
    if (next !== undefined) return next;
    const { idle = [], streaming = [], busy = [] } = this.#replaceableSets;
    return [...busy, ...idle, ...streaming][0];
  }

  /** Ends connections that are replaceable while they hold most of the budget together: it is they who have used it up. */
  #thinOut(enoughBytes: number): void {
    const quiet = [...this.#replaceableAccounts("idle", "streaming")];
    let quietBytes = quiet.reduce((sum, { bytes }) => sum + bytes, 0);
    // The sort is stable.
    for (const account of quiet.sort((one, other) => other.share.bytes - one.share.bytes)) {
      if (this.#bytes <= enoughBytes || quietBytes <= this.budgetBytes / 2) return;
      quietBytes -= account.bytes;
      this.#evict(account);
    }
  }

  *#replaceableAccounts(...activities: readonly Activity[]): Generator<Account> {
    const spared = Math.min(maxSparedConnections, Math.floor(this.#accounts.size / perSparedConnection));
    for (const activity of activities)
      for (const account of this.#replaceableSets[activity] ?? [])
        if (account.number <= this.#opened - spared) yield account;
  }

  get #isExceeded(): boolean {
    return (
      this.#surplusBytes > this.#maxSurplusBytes ||
      this.#bytes > Math.max(this.budgetBytes, this.#hopelessBytes)
    );
  }

  #relieve(): void {
    this.#isRelieving = false;
    if (!this.#isExceeded) return;
    const enoughBytes = this.budgetBytes * 0.875;
    if (this.#bytes > this.budgetBytes) this.#thinOut(enoughBytes);
    const endable = this.#endable();
    const enoughSurplusBytes = this.#maxSurplusBytes * 0.875;
    for (const account of endable) {
      if (this.#bytes <= enoughBytes && this.#surplusBytes <= enoughSurplusBytes) return;
      if (account.bytes <= ordinaryBytes && this.#bytes <= this.budgetBytes) continue;
      this.#evict(account);
    }
    if (this.#bytes > this.budgetBytes) this.#hopelessBytes = this.#bytes + this.budgetBytes / 64;
  }

  #evict(account: Account): void {
    const endingBytes = this.#endingBytes + account.bytes;
    account.evict(this.#endingBytes === 0 || endingBytes <= this.budgetBytes * endingShare);
  }

  /** What may be ended because it holds too much, in this order. */
  #endable(): Account[] {
    const isEndable = ({ bytes, baseBytes }: Account): boolean => bytes > baseBytes + idleBytes;
    if (this.#replaceable === "any") {
      const { idle = [], streaming = [], busy = [] } = this.#replaceableSets;
      return [...idle, ...streaming, ...busy].filter(isEndable);
    }
    // The sort is stable, so the newest stays first among equals. Ordinary ones are equals: an application with two requests, connected for
    // long, must not go because a thousand newer connections hold less each.
    return [...this.#accounts]
      .filter(isEndable)
      .reverse()
      .sort((one, other) => surplus(other.bytes) - surplus(one.bytes));
  }

  #forget(account: Account): void {
    if (!this.#accounts.delete(account)) return;
    this.#replaceableSets[account.activity]?.delete(account);
    this.#bytes -= account.bytes;
    account.share.bytes -= account.bytes;
    if (--account.share.accounts === 0) this.#shares.delete(account.share.address);
    this.#surplusBytes -= surplus(account.bytes);
  }
}
