import type { Socket } from "node:net";
import type { PeerAccount } from "./account.js";
import type { SocketAccess } from "./socket-access.js";
import type { TurnReader, SharedTurns, TurnShare } from "./turn-share.js";
import { UnreadChunks } from "./unread-chunks.js";

/** Bytes that are read from a socket at once: so many may still arrive after a pause. */
const readBytes = 64 * 1024;

/** The session, as its reading sees it. */
export interface ReadingOwner {
  readonly remoteAddress: string;
  readonly socket: Socket;
  readonly sockets: SocketAccess;
  readonly account: PeerAccount;
  readonly isOpen: boolean;
  /** Handles bytes from the socket. Returns the rest if the connection has had enough of this turn. */
  handle(chunk: Buffer): Buffer | undefined;
  /** Reading goes on after a pause for the turn. */
  onReadOn(): void;
}

/** Decides when a connection is read: not while the session has paused it, and not beyond its share of a turn. */
export class SessionReading implements TurnReader {
  readonly #owner: ReadingOwner;
  readonly #share: TurnShare;
  #isPaused = false;
  #unread: UnreadChunks | undefined;

  constructor(owner: ReadingOwner, turns: SharedTurns) {
    this.#owner = owner;
    this.#share = turns.enter(this, owner.remoteAddress);
  }

  /** True while nothing is read. */
  get isPaused(): boolean {
    return this.#isPaused || this.#share.isPaused;
  }

  /** True if the connection has had more than its share of this turn. */
  get hasEnough(): boolean {
    return this.#share.hasOverspent;
  }

  spend(work: number): void {
    this.#share.spend(work);
  }

  pause(): void {
    if (!this.#owner.isOpen) return;
    this.#owner.sockets.stopReading(this.#owner.socket);
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#owner.account.charge(readBytes);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#owner.account.release(readBytes);
    this.#start();
  }

  /** Takes bytes that were read from the socket. */
  take(chunk: Buffer): void {
    this.#share.read(chunk.length);
    this.#handle(chunk);
  }

  /** Counts bytes that were read and are dropped: they are in memory until they are collected. */
  drop(bytes: number): void {
    this.#share.read(bytes);
  }

  #handle(chunk: Buffer): void {
    // In order: unread chunks come first.
    const rest = this.#unread === undefined ? this.#owner.handle(chunk) : chunk;
    if (rest !== undefined && this.#owner.isOpen)
      (this.#unread ??= new UnreadChunks(this.#owner.account)).add(rest);
  }

  /** Nothing more is to be handled. */
  stop(): void {
    this.#unread?.take();
    this.#unread = undefined;
  }

  /** The connection has closed. */
  leave(): void {
    this.stop();
    this.#share.leave();
  }

  /** Called by the fairness of reads only. */
  pauseForTurn(): void {
    if (!this.#owner.socket.destroyed) this.#owner.sockets.stopReading(this.#owner.socket);
  }

  /** Called by the fairness of reads only. */
  resumeAfterTurn(): void {
    this.#owner.onReadOn();
    // In the next tick: other connections are resumed too, and together they may have spent the turn by then.
    if (this.#unread === undefined) this.#start();
    else process.nextTick(handleUnread, this);
  }

  /** Called after `resumeAfterTurn` only. */
  handleUnread(): void {
    if (this.#unread === undefined || this.#share.isPaused) return;
    const chunks = this.#unread.take();
    this.#unread = undefined;
    for (const chunk of chunks) this.#handle(chunk);
    this.#start();
  }

  #start(): void {
    if (!this.#owner.socket.destroyed && !this.isPaused) this.#owner.sockets.startReading(this.#owner.socket);
  }
}

function handleUnread(reading: SessionReading): void {
  reading.handleUnread();
}
