import { currentTurn } from "@bunting/runtime";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { peerAddress, setShare, type TurnReader, type TurnShare } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { interceptPush } from "../node-internals/intercept-push.js";
import { readOn, stopReading } from "../node-internals/socket-handle.js";
import { dropBody } from "../node-internals/drop-body.js";

/** Pieces that count as much work as a request. */
const piecesPerWork = 32;
/**
 * Pieces that a body may have in addition to one for each 64 bytes. Clients that write a body value by value, without a
 * buffer, stay below: a body of 1 MB may come in 20,000 pieces.
 */
const freePieces = 4_096;
const bytesPerPiece = 64;
/** The same in a turn with more than `floodPieces`, some 10 ms of work, which only a flood has. */
const freePiecesInFlood = 256;
const floodPieces = 8_192;

/** Pieces of all connections in this turn: all share the event loop. */
const inTurn = { turn: -1, pieces: 0 };

/** A body that is not larger is not watched: it is no more than a request. */
const smallBytes = 8 * 1024;

/**
 * Bounds what the bodies on one HTTP/1.1 connection bring in a turn of the event loop: node reads up to 2 MB of each connection in one, and calls
 * back for each chunk of a chunked body, however small, some 10,000 times for 64 KB.
 */
export class BodyPieces implements TurnReader {
  readonly #socket: Socket;
  readonly #turns: ReadFairness;
  readonly #onTooMany: (request: IncomingMessage) => void;
  /** Undefined before the connection is read. */
  #share: TurnShare | undefined;
  #hasRefused = false;

  /** @param onTooMany called once, when a body comes in too many pieces; the connection is not read any more */
  constructor(socket: Socket, turns: ReadFairness, onTooMany: (request: IncomingMessage) => void) {
    this.#socket = socket;
    this.#turns = turns;
    this.#onTooMany = onTooMany;
  }

  /** Enters the connection into the turns: it is read from now on. */
  begin(): void {
    const share = this.#turns.enter(this, peerAddress(this.#socket));
    this.#share = share;
    setShare(this.#socket, share);
    this.#socket.once("close", () => share.leave());
  }

  /** True while nothing is to be read from the connection. */
  get isPaused(): boolean {
    return this.#hasRefused || this.#share?.isPaused === true;
  }

  /** Counts other work of the connection in this turn; a request is 1. */
  spend(work: number): void {
    this.#share?.spend(work);
  }

  /** Watches the body of a request for which `isWatched`. To be called before any of it is parsed. */
  watch(request: IncomingMessage): void {
    if (isChunked(request)) this.#watchChunks(request);
    else
      interceptPush(request, (piece, push) => {
        if (piece !== null) this.#share?.read(piece.length);
        return push(piece);
      });
  }

  #watchChunks(request: IncomingMessage): void {
    let pieces = 0;
    let bytes = 0;
    interceptPush(request, (piece, push) => {
      if (piece === null) return push(null);
      if (this.#hasRefused) {
        // The listener of the request may have asked for more.
        stopReading(this.#socket);
        return false;
      }
      pieces++;
      bytes += piece.length;
      this.#share?.read(piece.length);
      if (pieces % piecesPerWork === 0) this.#share?.spend(1);
      const free = isFlood() ? freePiecesInFlood : freePieces;
      if (pieces <= free + bytes / bytesPerPiece) return push(piece);
      this.#refuse(request);
      return false;
    });
  }

  /** Called by `ReadFairness` only. */
  pauseForTurn(): void {
    stopReading(this.#socket);
  }

  /** Called by `ReadFairness` only. */
  resumeAfterTurn(): void {
    if (!this.#hasRefused) readOn(this.#socket);
  }

  #refuse(request: IncomingMessage): void {
    this.#hasRefused = true;
    dropBody(this.#socket);
    // Unread pieces would stay in memory until the connection has closed.
    request.read();
    stopReading(this.#socket);
    this.#onTooMany(request);
  }
}

/**
 * True for a request whose body is large, or may be. It must be read by somebody: what node drops is not counted, and comes into memory all the
 * same.
 */
export function isWatched(request: IncomingMessage): boolean {
  return isChunked(request) || Number(request.headers["content-length"] ?? 0) > smallBytes;
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/** Counts a piece. */
function isFlood(): boolean {
  const turn = currentTurn();
  if (turn !== inTurn.turn) inTurn.pieces = 0;
  inTurn.turn = turn;
  return ++inTurn.pieces > floodPieces;
}
