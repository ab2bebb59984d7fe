import { FairQueue, heapLimitBytes, nextTurn, onNextTurn, systemClock, type Clock } from "@bunting/runtime";
import type { TurnReader, SharedTurns, TurnShare } from "@bunting/http2";
import { countRead } from "./read-garbage.js";

export interface ReadFairnessOptions {
  /** Work of one connection in a turn after which it is paused; a request is 1. */
  readonly perConnection?: number;
  /** Work of all connections in a turn after which all are paused. */
  readonly perTurn?: number;
  /** Calls back when the event loop has read all readable sockets; default `onNextTurn`. */
  readonly afterTurn?: (callback: () => void) => void;
  /** Length of a rest, in which no resting connection is read, relative to the turn before it; default 0: no rests. */
  readonly restFactor?: number;
  readonly clock?: Clock;
}

/** Longest rest. */
const maxRestMs = 250;
const perConnection = 64;
/** Shares after which the rest of a chunk waits for a later turn. The burst of an ordinary client fits. */
const sharesPerChunk = 4;
/** Free work of each connection in a turn, so that a reconnect storm of clients with a few streams each is not paused. */
const freePerConnection = 8;
/** Bytes that count as much work as a request. */
const bytesPerWork = 8 * 1024;
/** Most waiting connections that are accepted in one turn. */
const maxArrivals = 256;
/** Heap limit for each request of a turn: one takes some 15 KB until it is collected, so those of a turn take 1/8. */
const heapBytesPerRequest = 128 * 1024;
const minPerTurn = 256;
const maxPerTurn = 512;

/**
 * Bounds the work that is read in one turn of the event loop. Without it, everything readable on all sockets, up to 2 MB
 * each, would become calls before any call is answered, any garbage is collected, or any other connection is read.
 *
 * States of a connection: _read_ → _paused_ for the rest of the turn (all have spent `perTurn`), or → _resting_ (it has
 * spent `perConnection` itself). Paused ones are read again in the next turn, resting ones in rotation: addresses take turns, and the
 * connections of each. New connections are admitted in the same order, so that a flood delays its own address first.
 *
 * Invariants:
 * - A turn reads at least one resting connection, but during a rest: as many as spent together at most `perTurn` when
 *   they were last read.
 * - A resting connection is paused. While all are paused, work of any connection, also of a new one, makes it rest.
 * - Work up to `freePerConnection` in a turn counts only for the connection, not for the turn.
 * - Bytes count for the turn from the first 8 KiB of a connection on, in every protocol: 400 connections with 64 KB each fill a small container.
 *   So a turn brings at most `perTurn` times 8 KiB into memory, and the 64 KB that the last connection of it was read with.
 * - What has been read is handled up to four shares (`hasOverspent`); the rest of it is handled in a later turn.
 * - Waiting connections are admitted in every second turn, resting ones are read in the others: neither starves. After a turn that had its work,
 *   a turn that admits reads nothing else.
 * - With `restFactor` 1, a turn that read resting connections is followed by a rest as long as that turn, at most 250 ms:
 *   that time is left to all others.
 */
export class ReadFairness implements SharedTurns {
  readonly #perConnection: number;
  readonly #perTurn: number;
  readonly #afterTurn: (callback: () => void) => void;
  readonly #members = new Set<Member>();
  /** Resting connections, by address. */
  readonly #resting = new FairQueue<Member>();
  /** New connections that wait to be admitted, by address. */
  readonly #arrivals = new FairQueue<() => void>();
  #turn = 0;
  #heldTurns = 0;
  #spent = 0;
  #isEndDue = false;
  #areAllPaused = false;
  readonly #restFactor: number;
  readonly #clock: Clock;
  /** Start of this turn, if resting connections are read in it. */
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
  enter(reader: TurnReader, peer: string): TurnShare {
    const member = new Member(reader, this, peer);
    this.#members.add(member);
    return member;
  }

  /** Adds a connection of which nothing has been read. It starts paused if this turn has had its work. */
  enterUnread(reader: TurnReader, peer: string): TurnShare {
    const member = new Member(reader, this, peer);
    this.#members.add(member);
    if (this.#areAllPaused) member.pause();
    return member;
  }

  /** Calls back at once, or in a later turn if this one has had its work or others wait already. */
  admit(accept: () => void, peer: string): void {
    if (this.#spent <= this.#perTurn && this.#arrivals.size === 0) {
      accept();
      return;
    }
    this.#arrivals.add(peer, accept);
    this.#awaitEnd();
  }

  /** Resolves when what peers have sent by now is read, in later turns where turns have their work without it; or on abort. */
  async allRead(signal: AbortSignal): Promise<void> {
    let heldTurns: number;
    do {
      heldTurns = this.#heldTurns;
      // One read again at the end of the last turn has only been resumed: that turn counts as held, too.
      for (let turn = 0; turn < 2; turn++) await nextTurn();
    } while ((this.#holdsBack || this.#heldTurns > heldTurns) && !signal.aborted);
  }

  get #holdsBack(): boolean {
    return this.#areAllPaused || this.#resting.size > 0 || this.#arrivals.size > 0;
  }

  /** Called by `Member` only. */
  hasOverspent(member: Member): boolean {
    return member.spentIn(this.#turn) > sharesPerChunk * this.#perConnection;
  }

  /** Called by `Member` only. */
  leave(member: Member): void {
    this.#members.delete(member);
    this.#resting.delete(member.peer, member);
  }

  /** Called by `Member` only. Up to `freeWork` counts for the connection alone. */
  spend(member: Member, work: number, freeWork: number): void {
    if (!this.#members.has(member)) return;
    this.#spent += member.count(this.#turn, work, freeWork);
    this.#awaitEnd();
    // A connection that came after all were paused is paused with its first work.
    if (member.isPaused || this.#areAllPaused || member.spent > this.#perConnection) this.#rests(member);
    if (this.#spent > this.#perTurn && !this.#areAllPaused) {
      this.#areAllPaused = true;
      for (const each of this.#members) {
        if (each.hasCountedIn(this.#turn)) this.#rests(each);
        else each.pause();
      }
    }
  }

  #rests(member: Member): void {
    member.isResting = true;
    this.#resting.add(member.peer, member);
    member.pause();
  }

  #endTurn(): void {
    if (this.#holdsBack) this.#heldTurns++;
    this.#turn++;
    this.#spent = 0;
    this.#isEndDue = false;
    this.#rest();
    // Bytes of connections that wait are in memory: if as much is read while these are admitted, more and more wait.
    const admitsAlone = this.#arrivals.size > 0 && this.#turn % 2 === 0;
    if (this.#areAllPaused && !admitsAlone) {
      this.#areAllPaused = false;
      // In the order of the set: the oldest is read first.
      for (const member of this.#members) if (!member.isResting) member.resume();
    }
    const canRead = this.#resting.size > 0 && !this.#isResting;
    // In every second turn, so that neither kind starves.
    if (this.#arrivals.size > 0 && (this.#turn % 2 === 0 || !canRead)) this.#admitSome();
    else if (canRead) this.#readSome();
    if (this.#areAllPaused || this.#arrivals.size > 0 || (this.#resting.size > 0 && !this.#isResting))
      this.#awaitEnd();
  }

  /** Begins a rest if resting connections were read in this turn. */
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

  /** Admits each in a callback of its own, in which what the connection has sent is handled. */
  #admitSome(): void {
    for (let count = Math.min(this.#arrivals.size, maxArrivals); count > 0; count--)
      this.#afterTurn(() => {
        if (this.#spent <= this.#perTurn) this.#admitNext();
      });
  }

  #admitNext(): void {
    for (const [peer, accept] of this.#arrivals.heads()) {
      this.#arrivals.delete(peer, accept);
      this.#arrivals.moveToBack(peer);
      accept();
      return;
    }
  }

  /** Resumes the resting connections at the head of the rotation. */
  #readSome(): void {
    if (this.#restFactor > 0) {
      this.#readSinceMs = this.#clock.monotonicMs();
      this.#awaitEnd();
    }
    let expected = 0;
    for (const [peer, member] of this.#resting.heads()) {
      if (expected > 0 && expected + member.spent > this.#perTurn) return;
      expected += member.spent;
      this.#resting.delete(peer, member);
      this.#resting.moveToBack(peer);
      member.isResting = false;
      member.resume();
    }
  }
}

class Member implements TurnShare {
  readonly peer: string;
  isResting = false;
  readonly #reader: TurnReader;
  readonly #turns: ReadFairness;
  #turn = -1;
  #spent = 0;
  #hasCounted = false;
  /** Bytes that were read and do not count as work yet. */
  #unspentBytes = 0;
  #isPaused = false;

  constructor(reader: TurnReader, turns: ReadFairness, peer: string) {
    this.peer = peer;
    this.#reader = reader;
    this.#turns = turns;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get hasOverspent(): boolean {
    return this.#isPaused && this.#turns.hasOverspent(this);
  }

  /** Work in the last turn in which it had any. */
  get spent(): number {
    return this.#spent;
  }

  spentIn(turn: number): number {
    return turn === this.#turn ? this.#spent : 0;
  }

  /** True if work of it in this turn counts for the turn, too. */
  hasCountedIn(turn: number): boolean {
    return turn === this.#turn && this.#hasCounted;
  }

  spend(work: number): void {
    this.#turns.spend(this, work, freePerConnection);
  }

  read(bytes: number): void {
    countRead(bytes);
    this.#unspentBytes += bytes;
    if (this.#unspentBytes < bytesPerWork) return;
    const work = this.#unspentBytes / bytesPerWork;
    this.#unspentBytes = 0;
    this.#turns.spend(this, work, 0);
  }

  leave(): void {
    this.#isPaused = false;
    this.#turns.leave(this);
  }

  /** Returns what counts for the turn. */
  count(turn: number, work: number, freeWork: number): number {
    if (turn !== this.#turn) {
      this.#spent = 0;
      this.#hasCounted = false;
    }
    this.#turn = turn;
    this.#spent += work;
    if (this.#spent <= freeWork) return 0;
    this.#hasCounted = true;
    return work;
  }

  pause(): void {
    this.#isPaused = true;
    this.#reader.pauseForTurn();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#reader.resumeAfterTurn();
  }
}

function defaultPerTurn(): number {
  const byHeap = Math.floor(heapLimitBytes() / heapBytesPerRequest);
  return Math.min(maxPerTurn, Math.max(minPerTurn, byHeap));
}
