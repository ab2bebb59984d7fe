import { getHeapStatistics } from "node:v8";
import { onNextTurn, systemClock, type Clock } from "@bunting/runtime";
import type { TurnReader, SharedTurns, TurnShare } from "@bunting/http2";

export interface ReadFairnessOptions {
  /** Work of one connection in a turn, after which nothing more is read from it in that turn. */
  readonly perConnection?: number;
  /** Work of all connections in a turn, after which nothing more is read at all in that turn. */
  readonly perTurn?: number;
  /** Calls back when the event loop has read what was readable; `onNextTurn` does. */
  readonly afterTurn?: (callback: () => void) => void;
  /**
   * For how long connections that have spent their share are not read after a turn in which some were, in relation to the time that it took.
   * Default 0: in each turn some are read.
   */
  readonly restFactor?: number;
  readonly clock?: Clock;
}

/** The longest rest. */
const maxRestMs = 250;
const perConnection = 64;
/** A chunk with more of it is not handled whole. An ordinary client's burst fits. */
const sharesPerChunk = 4;
/** Work of a connection in a turn that counts for nothing, so that a reconnect storm of clients with a few streams each is not held. */
const freePerConnection = 8;
/** Of the connections that wait to be accepted, in one turn. */
const maxArrivals = 256;
/** Of the heap's limit, for each request of a turn: one takes some 15 KB until it is answered and collected, so those of a turn take an eighth of the heap. */
const heapBytesPerRequest = 128 * 1024;
const minPerTurn = 256;
const maxPerTurn = 512;

/**
 * Bounds the requests that are taken in one turn of the event loop. Without it, all that is readable on all sockets, up to 2 MB each, becomes
 * calls before any is answered, anything is collected, or any other connection is read.
 *
 * A connection that has spent its share is not read until a later turn. Such connections are read in rotation, at least one in each turn, and
 * only as many as have together spent no more than a turn's work when they were last read. When all have spent a turn's work, no connection is
 * read until the next turn. What has been read is handled until the connection has spent four times its share, and the rest of it in a later turn.
 *
 * With a `restFactor` of 1, such connections are not read for as long as the turn has taken in which some were: that time is left to all others.
 */
export class ReadFairness implements SharedTurns {
  readonly #perConnection: number;
  readonly #perTurn: number;
  readonly #afterTurn: (callback: () => void) => void;
  readonly #members = new Set<Member>();
  /** Those that have spent their share, in the order in which they are read again. */
  readonly #resting = new Set<Member>();
  /** New connections that wait for a turn that has not had its work. */
  readonly #arrivals: (() => void)[] = [];
  #turn = 0;
  #spent = 0;
  #isEndDue = false;
  #areAllHeld = false;
  readonly #restFactor: number;
  readonly #clock: Clock;
  /** When this turn began, if connections that had spent their share are read in it. */
  #readSinceMs: number | undefined;
  #isResting = false;

  constructor(options: ReadFairnessOptions = {}) {
    this.#perConnection = options.perConnection ?? perConnection;
    this.#perTurn = options.perTurn ?? defaultPerTurn();
    this.#afterTurn = options.afterTurn ?? onNextTurn;
    this.#restFactor = options.restFactor ?? 0;
    this.#clock = options.clock ?? systemClock;
  }

  /** Adds a connection. */
  enter(reader: TurnReader): TurnShare {
    const member = new Member(reader, this);
    this.#members.add(member);
    return member;
  }

  /** Adds a connection of which nothing has been read: nothing is in this turn either, if it has had its work. */
  enterUnread(reader: TurnReader): TurnShare {
    const member = new Member(reader, this);
    this.#members.add(member);
    if (this.#areAllHeld) member.hold();
    return member;
  }

  /** Calls back at once, or, if this turn has had its work or others wait, in a later turn. */
  admit(accept: () => void): void {
    if (this.#spent <= this.#perTurn && this.#arrivals.length === 0) {
      accept();
      return;
    }
    this.#arrivals.push(accept);
    this.#awaitEnd();
  }

  /** Called by shares only. */
  hasOverspent(member: Member): boolean {
    return member.spentIn(this.#turn) > sharesPerChunk * this.#perConnection;
  }

  /** Called by shares only. */
  leave(member: Member): void {
    this.#members.delete(member);
    this.#resting.delete(member);
  }

  /** Called by shares only. */
  spend(member: Member, work: number): void {
    if (!this.#members.has(member)) return;
    member.count(this.#turn, work);
    this.#awaitEnd();
    if (member.spent > freePerConnection) this.#spent += work;
    // Those that came after all others were held are held as soon as they spend anything.
    if (member.isHeld || this.#areAllHeld || member.spent > this.#perConnection) {
      this.#resting.add(member);
      member.hold();
    }
    if (this.#spent > this.#perTurn && !this.#areAllHeld) {
      this.#areAllHeld = true;
      for (const each of this.#members) {
        if (each.spentIn(this.#turn) > freePerConnection) this.#resting.add(each);
        each.hold();
      }
    }
  }

  #endTurn(): void {
    this.#turn++;
    this.#spent = 0;
    this.#isEndDue = false;
    this.#rest();
    if (this.#areAllHeld) {
      this.#areAllHeld = false;
      // The oldest first, which are then the first to be read.
      for (const member of this.#members) if (!this.#resting.has(member)) member.release();
    }
    const canRead = this.#resting.size > 0 && !this.#isResting;
    // In every second turn, so that neither waits for the other for ever.
    if (this.#arrivals.length > 0 && (this.#turn % 2 === 0 || !canRead)) this.#admitSome();
    else if (canRead) this.#readSome();
    if (this.#arrivals.length > 0 || (this.#resting.size > 0 && !this.#isResting)) this.#awaitEnd();
  }

  /** Begins a rest if this turn was one in which connections were read that had spent their share. */
  #rest(): void {
    if (this.#readSinceMs === undefined) return;
    const restMs = (this.#clock.monotonicMs() - this.#readSinceMs) * this.#restFactor;
    this.#readSinceMs = undefined;
    if (restMs === 0) return;
    this.#isResting = true;
    this.#clock.after(Math.min(restMs, maxRestMs), () => {
      this.#isResting = false;
      if (this.#resting.size > 0) this.#awaitEnd();
    });
  }

  #awaitEnd(): void {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    this.#afterTurn(() => this.#endTurn());
  }

  /** One callback each, because what a connection has sent is handled after the callback. */
  #admitSome(): void {
    for (let count = Math.min(this.#arrivals.length, maxArrivals); count > 0; count--) {
      this.#afterTurn(() => {
        if (this.#spent <= this.#perTurn) this.#arrivals.shift()?.();
      });
    }
  }

  /** Lets those read on whose turn it is. */
  #readSome(): void {
    if (this.#restFactor > 0) {
      this.#readSinceMs = this.#clock.monotonicMs();
      this.#awaitEnd();
    }
    let expected = 0;
    for (const member of this.#resting) {
      if (expected > 0 && expected + member.spent > this.#perTurn) return;
      expected += member.spent;
      this.#resting.delete(member);
      member.release();
    }
  }
}

class Member implements TurnShare {
  readonly #reader: TurnReader;
  readonly #turns: ReadFairness;
  #turn = -1;
  #spent = 0;
  #isHeld = false;

  constructor(reader: TurnReader, turns: ReadFairness) {
    this.#reader = reader;
    this.#turns = turns;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get hasOverspent(): boolean {
    return this.#isHeld && this.#turns.hasOverspent(this);
  }

  /** In the last turn in which there was any. */
  get spent(): number {
    return this.#spent;
  }

  spentIn(turn: number): number {
    return turn === this.#turn ? this.#spent : 0;
  }

  spend(work: number): void {
    this.#turns.spend(this, work);
  }

  leave(): void {
    this.#isHeld = false;
    this.#turns.leave(this);
  }

  count(turn: number, work: number): void {
    if (turn !== this.#turn) this.#spent = 0;
    this.#turn = turn;
    this.#spent += work;
  }

  hold(): void {
    this.#isHeld = true;
    this.#reader.holdReading();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#reader.continueReading();
  }
}

function defaultPerTurn(): number {
  const byHeap = Math.floor(getHeapStatistics().heap_size_limit / heapBytesPerRequest);
  return Math.min(maxPerTurn, Math.max(minPerTurn, byHeap));
}
