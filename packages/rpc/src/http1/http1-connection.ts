import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OpenAccount } from "../limits/peer-account.js";
import { currentTurn } from "../limits/event-loop-turn.js";
import { SocketStall } from "../limits/socket-stall.js";
import type { WatchedSession, WatchedStream } from "../limits/stall-watch.js";

/** How many requests a client may send ahead of the answers; hardly any client sends one. */
const maxWaiting = 32;
/** What a request that waits takes: node's objects for it and its answer. */
const waitingBytes = 4 * 1024;
/**
 * How many requests of a connection are taken in one turn of the event loop, and the rest of their chunk. Node reads up to 2 MB of a socket at
 * once, and answers thousands of small requests in it before anything else is read or accepted.
 */
const maxInTurn = 64;

type Answer = ServerResponse & { readonly req: IncomingMessage };
/** What node reads a socket with. Node's `reading` stays as it is: it continues by itself only what it has stopped itself. */
type Reading = Socket & {
  readonly _handle?: { readonly reading: boolean; readStop(): void; readStart(): void } | null;
};
/** Node's parser of a connection, which is not in the types. It calls back with each request, and stops parsing if 2 is returned. */
type Parsed = Socket & { readonly parser?: { onIncoming?: () => number } | null };

/**
 * The requests of one HTTP/1.1 connection, answered one after the other. Node passes on all pipelined requests of a chunk at once: a client
 * that reads no answers would have the process make and hold hundreds of them.
 */
export class Http1Connection implements WatchedSession {
  /** What they owe their client waits in the connection's socket, one answer after the other. */
  readonly watchedStreams: Iterable<WatchedStream> = [];
  readonly #socket: Socket;
  readonly #account: OpenAccount | undefined;
  readonly #onRequest: RequestListener;
  readonly #onPipelining: () => void;
  readonly #onAnswered: () => void;
  readonly #stall: SocketStall;
  #answering: Answer | undefined;
  #waiting: Answer[] | undefined;
  #turn = -1;
  #inTurn = 0;

  /**
   * @param stallClock counts up with time
   * @param onPipelining called when the connection is ended because of too many requests ahead of the answers.
   */
  constructor(
    socket: Socket,
    account: OpenAccount | undefined,
    stallClock: { readonly tick: number },
    onRequest: RequestListener,
    onPipelining: () => void,
  ) {
    this.#socket = socket;
    this.#account = account;
    this.#onRequest = onRequest;
    this.#onPipelining = onPipelining;
    this.#onAnswered = () => this.#next();
    this.#stall = new SocketStall(socket, stallClock);
    socket.once("close", () => account?.close());
  }

  /** True while an answer has begun that has not ended: nothing may be sent but the rest of it. */
  get isAnswerUnderWay(): boolean {
    return this.#answering?.headersSent === true;
  }

  /** Called by the stall watch only, once per tick. */
  isStalledSince(tick: number): boolean {
    return this.#stall.isStalledSince(tick);
  }

  /** Called by the stall watch only. */
  destroy(): void {
    this.#socket.destroy();
  }

  take(response: Answer): void {
    this.#countInTurn();
    if (this.#answering === undefined) {
      this.#answering = response;
      // When the chunk has been parsed: nothing is done for a client that has sent too many.
      process.nextTick(() => {
        if (!this.#socket.destroyed) this.#begin(response);
      });
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(response);
    if (this.#waiting.length > maxWaiting) {
      this.#onPipelining();
      this.#socket.destroy();
      // Or it would go on to the end of the chunk, with node's objects and an error for each request in it.
      const { parser } = this.#socket as Parsed;
      if (parser?.onIncoming) parser.onIncoming = () => 2;
    } else this.#account?.charge(waitingBytes);
  }

  #countInTurn(): void {
    const turn = currentTurn();
    this.#inTurn = turn === this.#turn ? this.#inTurn + 1 : 1;
    this.#turn = turn;
    if (this.#inTurn === maxInTurn) this.#restUntilNextTurn();
  }

  #restUntilNextTurn(): void {
    const socket = this.#socket as Reading;
    socket._handle?.readStop();
    setImmediate(() => {
      if (socket._handle?.reading === true) socket._handle.readStart();
    });
  }

  #begin(response: Answer): void {
    this.#account?.begin();
    response.once("close", this.#onAnswered);
    this.#onRequest(response.req, response);
  }

  #next(): void {
    this.#account?.finish();
    const response = this.#socket.destroyed ? undefined : this.#waiting?.shift();
    this.#answering = response;
    if (response === undefined) return;
    this.#account?.release(waitingBytes);
    this.#begin(response);
  }
}
