import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import {
  answerBytesPerWork,
  httpDate,
  peerAddress,
  SocketStall,
  type OpenAccount,
  type TurnReader,
  type TurnShare,
  type WatchedSession,
  type WatchedStream,
} from "@bunting/http2";
import type { ReadFairness } from "../limits/read-fairness.js";
import { readOn, stopReading, unsentBytes } from "../node-internals/socket-handle.js";
import { wholeRequestReader, type WholeRequest, type WholeRequestReader } from "./whole-request.js";

/** Answers requests that arrived whole, without node's objects for a request and a response. */
export interface WholeRequestHandler {
  /** Lower-case names of the headers that `answer` asks a request for. */
  readonly headerNames: readonly string[];
  /** A larger body is left to node's server, which refuses it. */
  readonly maxBodyBytes: number;
  /** Undefined, and nothing happened: node's server is to take this request, and all that follow on its connection. */
  answer(request: WholeRequest): WholeAnswer | undefined;
}

export interface WholeAnswer {
  readonly status: number;
  /** Lines with their ends, without those about the connection and the body's length. */
  readonly headers: string;
  readonly body: string;
}

export interface WholeRequestTimes {
  /** Time that a client may be idle, as each answer announces it. */
  readonly idleTimeoutMs: number;
  /** Time beyond it until the connection is closed. */
  readonly graceMs: number;
  /** Interval of the checks. */
  readonly sweepMs: number;
}

export interface WholeRequestServerOptions {
  readonly maxHeaderBytes: number;
  readonly times: WholeRequestTimes;
  /** Bounds what is read of all connections in a turn of the event loop. */
  readonly turns: ReadFairness;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  /** Called with a connection that has sent something else than a whole request, which was put back: node's server goes on with it. */
  readonly onOther: (socket: Socket, account: OpenAccount | undefined) => void;
  /** Called when a connection has closed. */
  readonly onClosed: () => void;
}

const emptyLine = Buffer.from("\r\n");

class Connection implements TurnReader, WatchedSession {
  readonly watchedStreams: Iterable<WatchedStream> = [];
  readonly account: OpenAccount | undefined;
  readonly share: TurnShare;
  /** Sweeps since it was accepted, or since its last answer. */
  sweeps = 0;
  readonly #socket: Socket;
  readonly #stall: SocketStall;

  constructor(
    socket: Socket,
    account: OpenAccount | undefined,
    { turns, stallClock }: Pick<WholeRequestServerOptions, "turns" | "stallClock">,
  ) {
    this.#socket = socket;
    this.account = account;
    this.#stall = new SocketStall(stallClock);
    this.share = turns.enterUnread(this, peerAddress(socket));
  }

  /** Called by the stall watch only, once per tick. */
  isStalledSince(tick: number): boolean {
    return this.#stall.isStalledSince(tick, unsentBytes(this.#socket));
  }

  /** Called by the stall watch only. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Called by `ReadFairness` only. */
  pauseForTurn(): void {
    stopReading(this.#socket);
  }

  /** Called by `ReadFairness` only. */
  resumeAfterTurn(): void {
    readOn(this.#socket);
  }

  /** Whoever takes the connection over enters it again. */
  leave(): void {
    if (this.share.isPaused) readOn(this.#socket);
    this.share.leave();
  }
}

/**
 * The fast way of HTTP/1.1: most of what node's server spends on a small request goes to objects that such a request has no use for, so a request
 * that is answered at once does without them. Everything else is for node's server, which takes the connection over for good: requests in pieces,
 * pipelined ones, other methods. So a connection here holds nothing between two events but an answer that its client has yet to read.
 *
 * A client that has sent nothing yet may be silent as long as one between two requests, and gets no answer in the end: pools of connections open some
 * that they need only later, and would take a 408 that crosses their first request for its answer.
 *
 * Time is counted in sweeps instead of by a timer for each connection, as the preface sniffer does.
 */
export class WholeRequestServer {
  readonly #handler: WholeRequestHandler | undefined;
  readonly #options: WholeRequestServerOptions;
  readonly #read: WholeRequestReader | undefined;
  readonly #connections = new Map<Socket, Connection>();
  /** The end of each answer's head. */
  #lastLines: string;
  #isEndAnnounced = false;
  readonly #onData: (this: Socket, bytes: Buffer) => void;
  readonly #onClose: (this: Socket) => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param handler without one, all that is sent, but for empty lines, is left to node's server */
  constructor(handler: WholeRequestHandler | undefined, options: WholeRequestServerOptions) {
    this.#handler = handler;
    this.#options = options;
    if (handler !== undefined) {
      const { headerNames, maxBodyBytes } = handler;
      this.#read = wholeRequestReader(headerNames, { ...options, maxBodyBytes });
    }
    const keepAliveSeconds = Math.floor(options.times.idleTimeoutMs / 1_000);
    this.#lastLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`;
    const take = this.#take.bind(this);
    this.#onData = function (bytes) {
      take(this, bytes);
    };
    const closed = this.#closed.bind(this);
    this.#onClose = function () {
      closed(this);
    };
  }

  /** Takes over a connection; its account is closed with it. */
  accept(socket: Socket, account: OpenAccount | undefined): void {
    this.#connections.set(socket, new Connection(socket, account, this.#options));
    socket.on("data", this.#onData);
    socket.on("close", this.#onClose);
    socket.resume();
    this.#timer ??= setInterval(() => this.#sweep(), this.#options.times.sweepMs);
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Open connections, for the stall watch. */
  get connections(): Iterable<WatchedSession> {
    return this.#connections.values();
  }

  /** From now on each answer is the last of its connection, and says so. */
  announceEnd(): void {
    this.#isEndAnnounced = true;
    this.#lastLines = "Connection: close\r\n\r\n";
  }

  /** Closes all connections, each when its client has read the answer, and reads no further request: each is between two. */
  closeIdle(): void {
    for (const socket of this.#connections.keys()) socket.off("data", this.#onData).destroySoon();
  }

  /** The sockets are to be destroyed by their owner, which accepted them. */
  close(): void {
    clearInterval(this.#timer);
  }

  #take(socket: Socket, bytes: Buffer): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const { account } = connection;
    connection.share.read(bytes.length);
    // Some clients send an empty line after a body, which belongs to no request (RFC 9112 2.2). Node's server would wait for the rest of one.
    if (emptyLine.equals(bytes)) return;
    // A client that asks on and does not read the answer before is for node's server.
    const request = socket.writableLength === 0 ? this.#read?.(bytes) : undefined;
    if (request === undefined) {
      this.#leave(socket, account, bytes);
      return;
    }
    // A connection that asks is not the one that has waited longest for a request.
    account?.begin();
    const answer = this.#handler?.answer(request);
    account?.finish();
    if (answer === undefined) {
      this.#leave(socket, account, bytes);
      return;
    }
    connection.sweeps = 0;
    this.#send(socket, answer, connection);
  }

  #send(socket: Socket, { status, headers, body }: WholeAnswer, { account, share }: Connection): void {
    const bytes = Buffer.byteLength(body);
    if (bytes > answerBytesPerWork) share.spend(bytes / answerBytesPerWork);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${headers}content-length: ${bytes}\r\nDate: ${httpDate()}\r\n`;
    const text = `${head}${this.#lastLines}${body}`;
    socket.write(text, bytes === body.length ? "latin1" : "utf8");
    // The system has not taken it: the stall watch sees to the rest.
    if (socket.writableLength > 0) {
      account?.charge(bytes);
      socket.write("", () => account?.release(bytes));
    }
    if (this.#isEndAnnounced) socket.off("data", this.#onData).destroySoon();
  }

  /** Leaves a connection to node's server, with what it has sent. */
  #leave(socket: Socket, account: OpenAccount | undefined, bytes: Buffer): void {
    this.#forget(socket);
    socket.off("data", this.#onData);
    socket.off("close", this.#onClose);
    socket.unshift(bytes);
    this.#options.onOther(socket, account);
  }

  #closed(socket: Socket): void {
    this.#connections.get(socket)?.account?.close();
    this.#forget(socket);
    this.#options.onClosed();
  }

  #forget(socket: Socket): void {
    this.#connections.get(socket)?.leave();
    this.#connections.delete(socket);
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const { idleTimeoutMs, graceMs, sweepMs } = this.#options.times;
    for (const [socket, connection] of this.#connections) {
      // Its request may have arrived, or it is still reading the answer.
      if (connection.share.isPaused || socket.writableLength > 0) continue;
      // Later than promised: a client that trusts the promise must not find the connection closed.
      if (connection.sweeps++ * sweepMs > idleTimeoutMs + graceMs) socket.destroy();
    }
  }
}
