import { currentTurn } from "@bunting/runtime";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TurnReader, TurnShare } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { interceptPush } from "../node-internals/intercept-push.js";
import { readOn, stopReading } from "../node-internals/socket-handle.js";
import { dropBody } from "../node-internals/drop-body.js";

/** Pieces that cost as much as a request. */
const piecesPerWork = 32;
/**
 * How many pieces a body may have, beyond one for so many bytes of it. Clients that write a body value by value, without a buffer, stay below it:
 * a body of 1 MB may come in 20,000 pieces.
 */
const freePieces = 4_096;
const bytesPerPiece = 64;
/** The same in a turn of the event loop that has had so many pieces, which only a flood has: some 10 ms of work. */
const freePiecesInFlood = 256;
const floodPieces = 8_192;

/** The event loop is the process's, and so is this count. */
const inTurn = { turn: -1, pieces: 0 };

/**
 * Bounds what the pieces of chunked bodies cost on one HTTP/1.1 connection. Node calls back for each chunk of a body, however small it is: some
 * 10,000 times for 64 KB that were read, of which it reads up to 2 MB of each connection in one turn of the event loop.
 */
export class BodyPieces implements TurnReader {
  readonly #socket: Socket;
  readonly #share: TurnShare;
  readonly #onTooMany: (request: IncomingMessage) => void;
  #hasRefused = false;

  /** @param onTooMany called once, when a body comes in too many pieces: nothing more is read from the connection. */
  constructor(socket: Socket, turns: ReadFairness, onTooMany: (request: IncomingMessage) => void) {
    this.#socket = socket;
    this.#onTooMany = onTooMany;
    const share = turns.enter(this);
    this.#share = share;
    socket.once("close", () => share.leave());
  }

  /** True while nothing is to be read from the connection. */
  get isHeld(): boolean {
    return this.#hasRefused || this.#share.isHeld;
  }

  /** Counts what else than pieces the connection has caused in this turn; a request is 1. */
  spend(work: number): void {
    this.#share.spend(work);
  }

  /** Watches the chunked body of a request, of which nothing has been parsed yet. */
  watch(request: IncomingMessage): void {
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
      if (pieces % piecesPerWork === 0) this.#share.spend(1);
      const free = isFlood() ? freePiecesInFlood : freePieces;
      if (pieces <= free + bytes / bytesPerPiece) return push(piece);
      this.#refuse(request);
      return false;
    });
  }

  /** Called by the read turns only. */
  holdReading(): void {
    stopReading(this.#socket);
  }

  /** Called by the read turns only. */
  continueReading(): void {
    if (!this.#hasRefused) readOn(this.#socket);
  }

  #refuse(request: IncomingMessage): void {
    this.#hasRefused = true;
    dropBody(this.#socket);
    // Its pieces that nobody has read would be held until the connection has closed.
    request.read();
    stopReading(this.#socket);
    this.#onTooMany(request);
  }
}

/** Counts a piece. */
function isFlood(): boolean {
  const turn = currentTurn();
  if (turn !== inTurn.turn) inTurn.pieces = 0;
  inTurn.turn = turn;
  return ++inTurn.pieces > floodPieces;
}
