import { currentTurn, onNextTurn } from "@bunting/runtime";
import type { IncomingMessage, RequestListener } from "node:http";
import type { Socket } from "node:net";
import { type OpenAccount, SocketStall, type WatchedSession, type WatchedStream } from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { readOn, stopReading, unsentBytes } from "../node-internals/socket-handle.js";
import { stopParsing } from "../node-internals/stop-parsing.js";
import { BodyPieces, isWatched } from "./body-pieces.js";
import { dismissGently } from "./dismiss-gently.js";
import { watchHeadParts, type HeadPartListener } from "../node-internals/head-parts.js";
import { improprietyOf, refuseImproper } from "./improper-request.js";
import { lastAnswer } from "./last-answer.js";
import { WaitingRequest, type WaitingAnswer } from "./waiting-request.js";

/** Requests that may wait for the answers before them (pipelining); hardly any client sends one. */
const maxWaiting = 32;
/**
 * Requests of a connection that are taken in one turn of the event loop, plus the rest of their chunk. Node reads up to 2 MB
 * of a socket at once, and would answer thousands of small requests before anything else is read or accepted.
 */
const maxInTurn = 64;

/** Bytes of a head that count as much work as a request. */
const headBytesPerWork = 8 * 1024;
/** Bytes that node allocates for each name and each value besides the characters: a string, and slots in two objects. */
const textBytes = 64;
/** Bytes of the head of an ordinary request. The base charge of a connection covers them. */
const ordinaryBytes = 4 * 1024;

export interface Http1ConnectionOptions {
  readonly account: OpenAccount | undefined;
  /** Counts up with time. */
  readonly stallClock: { readonly tick: number };
  /** Bounds what bodies, large heads and pipelined requests take of a turn of the event loop. */
  readonly turns: ReadFairness;
  readonly onRequest: RequestListener;
  /** Called when the connection is ended because of a limit. */
  readonly onRefused: (reason: "pipelining" | "small_pieces") => void;
  /** Time in which the client may still send, unread, after its body was refused. */
  readonly lingerMs: number | undefined;
}

const smallPieces = lastAnswer(
  "400 Bad Request",
  "The body of the request comes in too many small chunks: send it in larger ones, or whole.",
);

/**
 * The requests of one HTTP/1.1 connection, answered one after the other. Node's parser passes on all pipelined requests of a
 * chunk at once, and would keep all their answers for a client that reads none.
 *
 *     parser ── onHeadPart (headers, trailers: charged) ──> take ──> #answering ──> onRequest ──> #next
 *                                                             └────> #waiting ───────────────────────┘
 *
 * Invariants:
 * - One request is being answered; at most `maxWaiting` wait. One more ends the connection.
 * - `#newest` is the request that the parser passed on last, until it is answered: head parts that come while its message is
 *   incomplete are its trailers.
 * - Each head is charged once: as `#partBytes` until the parser passes the request on, then as `#headBytes` (being answered)
 *   or `headBytes` of the waiting request, until the answer has closed. Trailers are charged to the request's own sum, and
 *   return to `#partBytes` if the answer closes before they have all arrived: the parser keeps them.
 * - The account counts a request (`begin`, `finish`) only while it is being answered.
 * - After `announceEnd`, the last answer announces the end of the connection, or the connection closes after it.
 */
export class Http1Connection implements WatchedSession, HeadPartListener {
  /** None: unsent answers wait in the socket, one after the other, so the connection itself is watched. */
  readonly watchedStreams: Iterable<WatchedStream> = [];
  readonly #socket: Socket;
  readonly #options: Http1ConnectionOptions;
  readonly #account: OpenAccount | undefined;
  readonly #onAnswered: () => void;
  readonly #stall: SocketStall;
  #answering: WaitingAnswer | undefined;
  #headBytes = 0;
  #partBytes = 0;
  #newest: IncomingMessage | undefined;
  #waiting: WaitingRequest[] | undefined;
  readonly #pieces: BodyPieces;
  #turn = -1;
  #inTurn = 0;
  #isEnding = false;

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

  /** True while an answer has begun and not ended: callers must send nothing but the rest of it. */
  get isAnswerUnderWay(): boolean {
    return this.#answering?.headersSent === true;
  }

  /** The connection closes after the answers to all requests that have begun by then, and to the next one if none has. */
  announceEnd(): void {
    this.#isEnding = true;
    if (this.#answering !== undefined) this.#announceEndIn(this.#answering);
  }

  /** Closes the connection if nothing has come on it; node's server closes those that are between two requests. */
  closeUnused(): void {
    // Node does not report a request whose head is incomplete. Without any byte, none has begun.
    if (this.#socket.bytesRead === 0) this.#socket.destroy();
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
    this.#pieces.begin();
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
    if (isWatched(response.req)) this.#pieces.watch(response.req);
    const headBytes = headExcessBytes(response.req);
    this.#countHead(headBytes - this.#partBytes);
    if (headBytes > 0) this.#account?.charge(headBytes);
    if (this.#partBytes > 0) this.#account?.release(this.#partBytes);
    this.#partBytes = 0;
    if (this.#answering === undefined) {
      this.#answering = response;
      this.#headBytes = headBytes;
      // After the chunk was parsed: a client that sent too many requests gets no answer.
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
      if (!this.#pieces.isPaused) readOn(this.#socket);
    });
  }

  /** Counts the work of a head. An ordinary request counts nothing here unless it is pipelined. */
  #countHead(headBytes: number): void {
    const isPipelined = this.#answering !== undefined;
    const work = Math.max(0, headBytes) / headBytesPerWork + (isPipelined ? 1 : 0);
    if (work > 0) this.#pieces.spend(work);
  }

  #refusePieces(request: IncomingMessage): void {
    this.#options.onRefused("small_pieces");
    // The refusal may replace the answer to this request, but not one before it.
    if (this.#answering?.req === request && !this.#answering.headersSent)
      dismissGently(this.#socket, smallPieces, this.#options.lingerMs);
    else this.#socket.destroy();
  }

  #begin(response: WaitingAnswer): void {
    // An unread body must pass the count of its pieces too, so node must not drop it in its own way.
    if (isWatched(response.req)) response.req.resume();
    this.#account?.begin();
    if (this.#isEnding) this.#announceEndIn(response);
    // `on` is cheaper than `once`, and the event comes once.
    response.on("close", this.#onAnswered);
    const impropriety = improprietyOf(response.req);
    if (impropriety === undefined) {
      this.#options.onRequest(response.req, response);
      return;
    }
    // Requests after an improper one are dropped.
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
    // The last answer may have begun before the end was announced, with headers that keep the connection open.
    else if (this.#isEnding) this.#socket.destroySoon();
  }

  /** Announces the end in the last answer, so that the client sends no further request. Node then closes the connection. */
  #announceEndIn(last: WaitingAnswer): void {
    if (!last.headersSent && (this.#waiting?.length ?? 0) === 0) last.shouldKeepAlive = false;
  }

  /** The newest request was answered. Node's parser keeps its trailers until all of them have arrived. */
  #forgetNewest(): void {
    if (this.#newest?.complete === false) {
      this.#partBytes += this.#headBytes;
      this.#headBytes = 0;
    }
    this.#newest = undefined;
  }
}

/** Bytes of the head of a request beyond those of an ordinary one, allocated as long as the request lives. */
function headExcessBytes({ url = "", rawHeaders }: IncomingMessage): number {
  return Math.max(0, weighTexts(rawHeaders, url) - ordinaryBytes);
}

/** Bytes allocated for headers. */
function weighTexts(texts: readonly string[], url: string): number {
  let bytes = url.length;
  for (const text of texts) bytes += textBytes + text.length;
  return bytes;
}
