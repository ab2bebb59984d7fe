import { currentTurn, onNextTurn } from "@bunting/runtime";
import type { IncomingMessage, RequestListener } from "node:http";
import type { Socket } from "node:net";
import { type OpenAccount, SocketStall, type WatchedSession, type WatchedStream } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { readOn, stopReading, unsentBytes } from "../node-internals/socket-handle.js";
import { stopParsing } from "../node-internals/stop-parsing.js";
import { BodyPieces } from "./body-pieces.js";
import { dismissGently } from "./dismiss-gently.js";
import { watchHeadParts, type HeadPartListener } from "../node-internals/head-parts.js";
import { improprietyOf, refuseImproper } from "./improper-request.js";
import { lastAnswer } from "./last-answer.js";
import { WaitingRequest, type WaitingAnswer } from "./waiting-request.js";

/** How many requests a client may send ahead of the answers; hardly any client sends one. */
const maxWaiting = 32;
/**
 * How many requests of a connection are taken in one turn of the event loop, and the rest of their chunk. Node reads up to 2 MB of a socket at
 * once, and answers thousands of small requests in it before anything else is read or accepted.
 */
const maxInTurn = 64;

/** The bytes of a head that count as a request. */
const headBytesPerWork = 8 * 1024;
/** What node holds for each name and each value apart from its characters: a string, and places in two objects. */
const textBytes = 64;
/** The head of an ordinary request, which what a connection is charged for anyway covers. */
const ordinaryBytes = 4 * 1024;

export interface Http1ConnectionOptions {
  readonly account: OpenAccount | undefined;
  /** Counts up with time. */
  readonly stallClock: { readonly tick: number };
  /** Bounds what chunked bodies, large heads and pipelined requests take of a turn of the event loop. */
  readonly turns: ReadFairness;
  readonly onRequest: RequestListener;
  /** Called when the connection is ended because of a limit. */
  readonly onRefused: (reason: "pipelining" | "small_pieces") => void;
  /** How long the client may go on sending, unread, after its body was refused. */
  readonly lingerMs: number | undefined;
}

const smallPieces = lastAnswer(
  "400 Bad Request",
  "The body of the request comes in too many small chunks: send it in larger ones, or whole.",
);

/**
 * The requests of one HTTP/1.1 connection, answered one after the other. Node passes on all pipelined requests of a chunk at once: a client
 * that reads no answers would have the process make and hold hundreds of them.
 */
export class Http1Connection implements WatchedSession, HeadPartListener {
  /** What they owe their client waits in the connection's socket, one answer after the other. */
  readonly watchedStreams: Iterable<WatchedStream> = [];
  readonly #socket: Socket;
  readonly #options: Http1ConnectionOptions;
  readonly #account: OpenAccount | undefined;
  readonly #onAnswered: () => void;
  readonly #stall: SocketStall;
  #answering: WaitingAnswer | undefined;
  /** What the head of the request that is being answered was charged with, and its trailers. */
  #headBytes = 0;
  /** What is charged of a head that is not complete. */
  #partBytes = 0;
  /** The request that came last, until it is answered. */
  #newest: IncomingMessage | undefined;
  #waiting: WaitingRequest[] | undefined;
  readonly #pieces: BodyPieces;
  #turn = -1;
  #inTurn = 0;
  #isDraining = false;

  constructor(socket: Socket, options: Http1ConnectionOptions) {
    const { account, stallClock, turns } = options;
    this.#socket = socket;
    this.#options = options;
    this.#account = account;
    this.#onAnswered = () => this.#next();
    this.#stall = new SocketStall(stallClock);
    this.#pieces = new BodyPieces(socket, turns, (refused) => this.#refusePieces(refused));
    socket.once("close", () => account?.close());
  }

  /** True while an answer has begun that has not ended: nothing may be sent but the rest of it. */
  get isAnswerUnderWay(): boolean {
    return this.#answering?.headersSent === true;
  }

  /** The connection closes after the answers to the requests that have begun to arrive; if none has, with `closeIdleConnections` of node's server. */
  drain(): void {
    this.#isDraining = true;
    // Node tells nobody of a request whose head is not complete. One that has sent nothing at all has not begun.
    if (this.#socket.bytesRead === 0) this.#socket.destroy();
    else if (this.#answering !== undefined) this.#announceEnd(this.#answering);
  }

  /** Called by the stall watch only, once per tick. */
  isStalledSince(tick: number): boolean {
    return this.#stall.isStalledSince(tick, unsentBytes(this.#socket));
  }

  /** Called by the stall watch only. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Called when node's server has taken the socket. */
  begin(): void {
    watchHeadParts(this.#socket, this);
  }

  onHeadPart(texts: readonly string[], url: string): void {
    const bytes = weighTexts(texts, url);
    this.#account?.charge(bytes);
    this.#pieces.spend(bytes / headBytesPerWork);
    const areTrailers = this.#newest?.complete === false;
    const waiting = this.#waiting?.at(-1);
    if (!areTrailers) this.#partBytes += bytes;
    else if (waiting === undefined) this.#headBytes += bytes;
    else waiting.headBytes += bytes;
  }

  take(response: WaitingAnswer): void {
    this.#countInTurn();
    this.#newest = response.req;
    if (isChunked(response.req)) this.#pieces.watch(response.req);
    const headBytes = headSurplusBytes(response.req);
    this.#countHead(headBytes - this.#partBytes);
    if (headBytes > 0) this.#account?.charge(headBytes);
    if (this.#partBytes > 0) this.#account?.release(this.#partBytes);
    this.#partBytes = 0;
    if (this.#answering === undefined) {
      this.#answering = response;
      this.#headBytes = headBytes;
      // When the chunk has been parsed: nothing is done for a client that has sent too many.
      process.nextTick(() => {
        if (this.#socket.writable) this.#begin(response);
      });
      return;
    }
    this.#waiting ??= [];
    if (this.#waiting.length < maxWaiting) {
      this.#waiting.push(new WaitingRequest(response, headBytes, this.#account));
      return;
    }
    this.#options.onRefused("pipelining");
    this.#socket.destroy();
    stopParsing(this.#socket);
  }

  #countInTurn(): void {
    const turn = currentTurn();
    this.#inTurn = turn === this.#turn ? this.#inTurn + 1 : 1;
    this.#turn = turn;
    if (this.#inTurn === maxInTurn) this.#restUntilNextTurn();
  }

  #restUntilNextTurn(): void {
    stopReading(this.#socket);
    onNextTurn(() => {
      if (!this.#pieces.isHeld) readOn(this.#socket);
    });
  }

  /** Of an ordinary request nothing is counted, as long as it is the only one. */
  #countHead(headBytes: number): void {
    const isPipelined = this.#answering !== undefined;
    const work = Math.max(0, headBytes) / headBytesPerWork + (isPipelined ? 1 : 0);
    if (work > 0) this.#pieces.spend(work);
  }

  #refusePieces(request: IncomingMessage): void {
    this.#options.onRefused("small_pieces");
    // Instead of the answer to this request, and of no other.
    if (this.#answering?.req === request && !this.#answering.headersSent)
      dismissGently(this.#socket, smallPieces, this.#options.lingerMs);
    else this.#socket.destroy();
  }

  #begin(response: WaitingAnswer): void {
    // What the listener does not read is to pass by the count of its pieces, not by node's own way to drop a body.
    if (isChunked(response.req)) response.req.resume();
    this.#account?.begin();
    if (this.#isDraining) this.#announceEnd(response);
    // Not `once`, which costs more: it comes once anyway.
    response.on("close", this.#onAnswered);
    const impropriety = improprietyOf(response.req);
    if (impropriety === undefined) {
      this.#options.onRequest(response.req, response);
      return;
    }
    // Nothing is done for what came after it.
    this.#waiting = undefined;
    refuseImproper(impropriety, response.req, response);
  }

  #next(): void {
    this.#account?.finish();
    if (this.#answering?.req === this.#newest) this.#forgetNewest();
    if (this.#headBytes > 0) this.#account?.release(this.#headBytes);
    const next = this.#socket.destroyed ? undefined : this.#waiting?.shift();
    this.#headBytes = next?.headBytes ?? 0;
    this.#answering = next?.begin();
    if (this.#answering !== undefined) this.#begin(this.#answering);
    // Its client may have been told that the connection stays open: the answer had begun before that was known.
    else if (this.#isDraining) this.#socket.destroySoon();
  }

  /** Tells the client with the last answer, so that it sends no further request. Node then closes the connection. */
  #announceEnd(last: WaitingAnswer): void {
    if (!last.headersSent && (this.#waiting?.length ?? 0) === 0) last.shouldKeepAlive = false;
  }

  /** It has been answered. What has come of its trailers is held by node's parser until all have come. */
  #forgetNewest(): void {
    if (this.#newest?.complete === false) {
      this.#partBytes += this.#headBytes;
      this.#headBytes = 0;
    }
    this.#newest = undefined;
  }
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/** What the head of a request takes as long as the request lives, beyond what that of an ordinary one does, in bytes. */
function headSurplusBytes({ url = "", rawHeaders }: IncomingMessage): number {
  return Math.max(0, weighTexts(rawHeaders, url) - ordinaryBytes);
}

/** What headers take, in bytes. */
function weighTexts(texts: readonly string[], url: string): number {
  let bytes = url.length;
  for (const text of texts) bytes += textBytes + text.length;
  return bytes;
}
