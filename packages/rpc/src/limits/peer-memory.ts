/** What the process holds for one connection, in bytes. Whatever a peer can make grow is charged here for as long as it is held. */
export interface PeerAccount {
  /** Adds bytes that the process now holds for this peer. If that exceeds the budget, this or a greedier connection is ended soon. Never throws. */
  charge(bytes: number): void;
  /** Takes back what was charged. */
  release(bytes: number): void;
  /**
   * Charges a request that has not arrived whole, of which `bytes` are held instead of `before`. False, and nothing changes, if the
   * connection holds too much of such requests.
   */
  gather(bytes: number, before: number): boolean;
  /** Takes back what was gathered. */
  ungather(bytes: number): void;
  /** A request of this connection has begun. */
  begin(): void;
  /** A request that has begun is over. */
  finish(): void;
  readonly bytes: number;
}

/**
 * Which connections are ended for a new one when the budget is used up: `idle`, those that have waited longest for a request; `any`, if there
 * are none, also those whose requests have been open longest.
 */
export type Replaceable = "none" | "idle" | "any";

/** An account that `PeerMemory` opened. */
export interface OpenAccount extends PeerAccount {
  /** False if it is not part of any sum, or of that of connections which are being ended only. */
  readonly isCounted: boolean;
  /** True while no request is open. */
  readonly isIdle: boolean;
  /** To be called when the connection has closed; what is still charged is dropped. */
  close(): void;
}

/** What an idle connection takes, apart from its streams: the socket, nghttp2's session, node's objects and ours. */
export const connectionBytes = 24 * 1024;
/** What an open stream takes apart from its headers. */
export const streamBytes = 6 * 1024;
/** The headers and the message of an ordinary request. */
const ordinaryRequestBytes = 2 * 1024;
/** What a connection may hold without being greedy: itself, a few streams and their requests. */
const ordinaryBytes = 64 * 1024;
/** A connection that holds no more than this is never ended: it has one stream and nothing else. */
const idleBytes = 36 * 1024;
const mebibyte = 1024 * 1024;
/** What is released in smaller pieces V8 collects soon enough by itself. */
const largeBytes = 16 * 1024;
/** The part of the budget that connections which are being ended may hold in addition; one may hold more. */
const endingShare = 1 / 8;
/** What a connection may hold of requests that have not arrived whole. One request may be larger. */
const maxGatheredBytes = 4 * mebibyte;

/**
 * The ledger of what peers make this process hold: one account for each connection, two bounds for all of them.
 *
 * - The budget bounds the sum. Once it is reached, new connections are to be refused (`isFull`).
 * - The surplus, that is what connections hold beyond an ordinary one, is bounded by 64 MiB (half of a smaller budget, a sixteenth of one
 *   above 1 GiB): a few greedy connections are ended long before they use up what thousands of ordinary ones may.
 *
 * Beyond either, the greediest connections are ended, then ordinary ones, the newest first among equals, until an eighth of the bound is free
 * again. Connections that hold what an idle one holds are never ended for that. Where any connection is replaceable, those that have been open longest are ended
 * instead of the greediest: a probe is always among the newest. What ended connections hold until they have closed is bounded too: few at a
 * time get the time to tell their clients why.
 */
export class PeerMemory {
  readonly budgetBytes: number;
  readonly #maxSurplusBytes: number;
  readonly #replaceable: Replaceable;
  readonly #ledger: Ledger = {
    changed: (before, after) => this.#changed(before, after),
    turned: (account, isIdle) => this.#turned(account, isIdle),
    endingChanged: (bytes) => (this.#endingBytes += bytes),
    discarded: (bytes) => (this.#discardedBytes += bytes),
    released: (bytes) => this.#released(bytes),
    closed: (account) => this.#forget(account),
  };
  /** In the order in which they were opened. */
  readonly #accounts = new Set<Account>();
  /** Those without an open request, and those with one, in the order in which they became so; only what is replaceable. */
  readonly #idle = new Set<Account>();
  readonly #busy = new Set<Account>();
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
    maxSurplusBytes = Math.max(budgetBytes / 16, Math.min(budgetBytes / 2, 64 * mebibyte)),
  ) {
    this.budgetBytes = budgetBytes;
    this.#replaceable = replaceable;
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
      const [longest] = this.#idle.size > 0 ? this.#idle : this.#busy;
      if (longest === undefined) return false;
      this.#evict(longest);
    }
    return true;
  }

  /**
   * Opens the account of a connection, and charges the connection itself.
   *
   * @param end is called at most once, when the connection has to be ended to free memory, and `hasTime` says whether its peer may be told
   *   why. Its account counts no longer by then.
   */
  open(end: (hasTime: boolean) => void): OpenAccount {
    const account = new Account(end, this.#ledger);
    this.#accounts.add(account);
    this.#turned(account, true);
    account.charge(connectionBytes);
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
    setImmediate(() => {
      this.#releasedBytes = 0;
      listener();
    });
  }

  #turned(account: Account, isIdle: boolean): void {
    if (this.#replaceable === "none") return;
    (isIdle ? this.#busy : this.#idle).delete(account);
    if (isIdle) this.#idle.add(account);
    else if (this.#replaceable === "any") this.#busy.add(account);
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
    const endable = this.#endable();
    const enoughBytes = this.budgetBytes * 0.875;
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
    const isEndable = ({ bytes }: Account): boolean => bytes > idleBytes;
    if (this.#replaceable === "any") return [...this.#idle, ...this.#busy].filter(isEndable);
    // The sort is stable, so the newest stays first among equals. Ordinary ones are equals: an application with two requests, connected for
    // long, must not go because a thousand newer connections hold less each.
    return [...this.#accounts]
      .filter(isEndable)
      .reverse()
      .sort((one, other) => surplus(other.bytes) - surplus(one.bytes));
  }

  #forget(account: Account): void {
    if (!this.#accounts.delete(account)) return;
    this.#idle.delete(account);
    this.#busy.delete(account);
    this.#bytes -= account.bytes;
    this.#surplusBytes -= surplus(account.bytes);
  }
}

interface Ledger {
  changed(beforeBytes: number, afterBytes: number): void;
  turned(account: Account, isIdle: boolean): void;
  /** A connection that is being ended holds so many bytes more, or less. */
  endingChanged(bytes: number): void;
  /** Something has ended that took so many bytes. */
  discarded(bytes: number): void;
  /** So many bytes are charged no longer. */
  released(bytes: number): void;
  closed(account: Account): void;
}

class Account implements OpenAccount {
  readonly #end: (hasTime: boolean) => void;
  readonly #ledger: Ledger;
  #bytes = 0;
  #gatheredBytes = 0;
  #requests = 0;
  #state: "counted" | "ending" | "closed" = "counted";

  constructor(end: (hasTime: boolean) => void, ledger: Ledger) {
    this.#end = end;
    this.#ledger = ledger;
  }

  get isCounted(): boolean {
    return this.#state === "counted";
  }

  get isIdle(): boolean {
    return this.#requests === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  begin(): void {
    if (this.#requests++ === 0 && this.isCounted) this.#ledger.turned(this, false);
  }

  finish(): void {
    this.#ledger.discarded(streamBytes + ordinaryRequestBytes);
    if (--this.#requests === 0 && this.isCounted) this.#ledger.turned(this, true);
  }

  charge(bytes: number): void {
    const before = this.#bytes;
    this.#bytes += bytes;
    if (this.#state === "counted") this.#ledger.changed(before, this.#bytes);
    else if (this.#state === "ending") this.#ledger.endingChanged(bytes);
  }

  release(bytes: number): void {
    this.charge(-bytes);
    this.#ledger.released(bytes);
  }

  gather(bytes: number, before: number): boolean {
    const others = this.#gatheredBytes - before;
    if (others > 0 && others + bytes > maxGatheredBytes) return false;
    this.#gatheredBytes += bytes - before;
    this.charge(bytes - before);
    return true;
  }

  ungather(bytes: number): void {
    this.#gatheredBytes -= bytes;
    this.release(bytes);
  }

  close(): void {
    if (this.#state !== "closed") {
      this.#ledger.discarded(connectionBytes);
      this.#ledger.released(surplus(this.#bytes));
    }
    if (this.#state === "ending") this.#ledger.endingChanged(-this.#bytes);
    if (this.#state === "counted") this.#ledger.closed(this);
    this.#state = "closed";
  }

  evict(hasTime: boolean): void {
    this.#ledger.closed(this);
    this.#state = "ending";
    this.#ledger.endingChanged(this.#bytes);
    this.#end(hasTime);
  }
}

function surplus(bytes: number): number {
  return Math.max(0, bytes - ordinaryBytes);
}
