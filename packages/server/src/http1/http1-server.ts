import { nextTurn, sleep } from "@bunting/runtime";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { dismissGently } from "./dismiss-gently.js";
import { Http1Connection } from "./http1-connection.js";
import { type OpenAccount, peerAddress, setAccount, type WatchedSession } from "@bunting/http2";
import type { PeerMemory } from "../limits/peer-memory.js";
import type { ReadFairness } from "../limits/read-fairness.js";
import { isAnswerUnderWay } from "../node-internals/answer-under-way.js";
import { readOn, stopReading } from "../node-internals/socket-handle.js";
import { serveConnection, trackConnections } from "../node-internals/unbound-server.js";
import { lastAnswer } from "./last-answer.js";
import type { RefusalReason } from "@bunting/http2/status";
import type { WaitingAnswer } from "./waiting-request.js";
import { WholeRequestServer, type WholeRequestHandler } from "./whole-request-server.js";

export interface Http1Times {
  /** Time for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** Time for a whole request. */
  readonly requestTimeoutMs: number;
  /** Time that a client may be idle between two requests, as it is announced; the connection is closed a tenth later. Default 60 s. */
  readonly idleTimeoutMs?: number | undefined;
  /** Time in which a refused client may still send, unread; default 500 ms, as in Go's server. */
  readonly lingerMs?: number;
}

export interface Http1Events {
  /** Called for each connection that is evicted, or refused because the memory budget is used up. */
  readonly onOverload?: (() => void) | undefined;
  /** Called for each request that is refused because of the size of its headers. */
  readonly onLargeHeaders?: (() => void) | undefined;
  /** Called for each request that is refused because of a limit. */
  readonly onRefused?: ((reason: RefusalReason) => void) | undefined;
}

/** What connections may cost. */
export interface Http1Limits {
  /** Size of a request's line and headers, in bytes; `headerSlackBytes` more are accepted. */
  readonly maxHeaderBytes: number;
  /** Bounds the memory of connections; without it, there is no bound. */
  readonly memory?: PeerMemory | undefined;
}

export interface Http1ServerOptions {
  readonly times: Http1Times;
  /** Counts up with time, for the stall watch. */
  readonly stallClock: { readonly tick: number };
  /** Bounds what is read of all connections in a turn of the event loop. */
  readonly turns: ReadFairness;
  readonly limits: Http1Limits;
  /** Answers requests that arrive whole, if they are of its kind; `onRequest` gets all others. */
  readonly wholeRequests?: WholeRequestHandler | undefined;
  readonly events: Http1Events;
}

/** Bytes beyond the limit, for the reader's buffer, as in Go's server and so in flagd. */
const headerSlackBytes = 4_096;
/** Bytes of headers that a connection may send whatever the others have used. */
const minHeaderBytes = 16 * 1024;
/**
 * The part of the budget that may be taken by headers that are not complete. Node tells nobody how far they are, so the limit of each
 * connection is set when it opens: the more are open, the less a new one gets.
 */
const headerShare = 1 / 8;

const headersTooLarge = "The headers of the request are larger than this server accepts.";
const overloaded = lastAnswer(
  "503 Service Unavailable",
  "The peers of this server hold as much of its memory as they may (--peer-memory).",
  "retry-after: 1\r\n",
);

type Ending = Duplex & { destroySoon(): void };

const connection = Symbol("the Http1Connection of a socket");
type Connected = Socket & { [connection]: Http1Connection };

/** HTTP/1.1 on sockets that were accepted elsewhere. */
export class Http1Server {
  readonly #options: Http1ServerOptions;
  readonly #onRequest: RequestListener;
  readonly #server;
  readonly #whole: WholeRequestServer | undefined;
  readonly #connections = new Set<Http1Connection>();
  #state: "serving" | "ending" | "draining" = "serving";
  readonly #closing = new AbortController();
  #onDrained = (): void => undefined;

  constructor(onRequest: RequestListener, options: Http1ServerOptions) {
    const { headerTimeoutMs, requestTimeoutMs, idleTimeoutMs = 60_000 } = options.times;
    // A request that was sent in the announced time is under way for a while: closed at once, the connection would lose it.
    const graceMs = idleTimeoutMs / 10;
    // Interval of the checks for timeouts.
    const sweepMs = Math.max(10, Math.min(1_000, Math.ceil(headerTimeoutMs / 4)));
    this.#options = options;
    this.#onRequest = onRequest;
    const take = (request: IncomingMessage, response: WaitingAnswer): void =>
      (request.socket as Connected)[connection].take(response);
    this.#server = createServer(
      {
        // Node would answer these itself, and those with another expectation, however many came ahead of their answers.
        requireHostHeader: false,
        headersTimeout: headerTimeoutMs,
        requestTimeout: Math.max(headerTimeoutMs, requestTimeoutMs),
        connectionsCheckingInterval: sweepMs,
        keepAliveTimeout: idleTimeoutMs,
      },
      take,
    );
    this.#server.on("checkExpectation", take);
    this.#server.on("clientError", (error, socket) => this.#refuseRequest(error, socket as Ending));
    this.#server.on("timeout", (socket: Socket) => {
      if (socket.timeout === graceMs) socket.destroy();
      else socket.setTimeout(graceMs);
    });
    if (options.wholeRequests !== undefined)
      this.#whole = new WholeRequestServer(options.wholeRequests, {
        maxHeaderBytes: options.limits.maxHeaderBytes,
        times: { headerTimeoutMs, idleTimeoutMs, graceMs, sweepMs },
        turns: options.turns,
        onOther: (socket, account) => this.#take(socket, account),
        onTimeout: (socket) => this.#refuseLateRequest(socket),
      });
  }

  /** Begins to enforce the timeouts. */
  start(): void {
    trackConnections(this.#server);
  }

  /** Open connections, for the stall watch. */
  get connections(): Iterable<WatchedSession> {
    return this.#connections;
  }

  /** Takes over a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void {
    const { memory } = this.#options.limits;
    const address = peerAddress(socket);
    if (memory?.makeRoom(address) === false) {
      this.#overload(socket);
      return;
    }
    const account = memory?.open(() => this.#end(socket, account), address);
    setAccount(socket, account);
    if (this.#whole === undefined || this.#state !== "serving") this.#take(socket, account);
    else this.#whole.accept(socket, account);
  }

  #take(socket: Socket, account: OpenAccount | undefined): void {
    const { stallClock, turns, times } = this.#options;
    const accepted = new Http1Connection(socket, {
      account,
      stallClock,
      turns,
      onRequest: this.#onRequest,
      onRefused: (reason) => this.#options.events.onRefused?.(reason),
      lingerMs: times.lingerMs,
    });
    (socket as Connected)[connection] = accepted;
    this.#connections.add(accepted);
    socket.once("close", () => this.#forget(accepted));
    if (this.#state !== "serving") accepted.announceEnd();
    if (this.#state === "draining") accepted.closeUnused();
    const admission = { isDone: false };
    turns.admit(() => {
      admission.isDone = true;
      if (!socket.destroyed) this.#begin(socket, accepted);
    }, peerAddress(socket));
    if (admission.isDone) return;
    // This turn has had its work, and node would handle at once all that has been read of the connection, and read on.
    socket.pause();
    stopReading(socket);
  }

  #forget(connection: Http1Connection): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#onDrained();
  }

  #begin(socket: Socket, accepted: Http1Connection): void {
    const isPaused = socket.isPaused();
    serveConnection(this.#server, socket, this.#headerLimit() + headerSlackBytes);
    accepted.begin();
    if (!isPaused) return;
    socket.resume();
    readOn(socket);
  }

  /**
   * From now on each answer is the last of its connection, and says so. Closes connections that are between two requests once `lastCallMs` are over, and the
   * others after the answers to the requests that have begun to arrive. Resolves when none is left; `close` ends the wait.
   */
  async drain(lastCallMs: number): Promise<void> {
    this.#state = "ending";
    this.#whole?.announceEnd();
    for (const one of this.#connections) one.announceEnd();
    if (lastCallMs > 0 && this.#connections.size + (this.#whole?.size ?? 0) > 0) {
      await sleep(lastCallMs, this.#closing.signal);
      // Node sees that the time is over before it reads what has come meanwhile.
      for (let turn = 0; turn < 2; turn++) await nextTurn();
    }
    this.#state = "draining";
    this.#whole?.closeIdle();
    this.#server.closeIdleConnections();
    for (const one of this.#connections) one.closeUnused();
    if (this.#connections.size > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }

  /** Stops the timeouts. The sockets are to be destroyed by their owner, which accepted them. */
  close(): void {
    this.#closing.abort();
    this.#onDrained();
    this.#whole?.close();
    this.#server.close();
  }

  #headerLimit(): number {
    const { maxHeaderBytes, memory } = this.#options.limits;
    const room =
      memory === undefined ? Infinity : (memory.budgetBytes * headerShare) / this.#connections.size;
    return Math.floor(Math.min(maxHeaderBytes, Math.max(minHeaderBytes, room)));
  }

  #end(socket: Socket, account: OpenAccount | undefined): void {
    if (account?.isIdle !== true && !(socket as Connected)[connection].isAnswerUnderWay) {
      this.#overload(socket);
      return;
    }
    // Without an answer, which would be taken for that to the next request, or for a part of the one under way. Clients expect it of a server.
    this.#options.events.onOverload?.();
    socket.destroy();
  }

  #overload(socket: Socket): void {
    this.#options.events.onOverload?.();
    dismiss(socket, overloaded);
  }

  #refuseLateRequest(socket: Duplex): void {
    this.#options.events.onRefused?.("request_timeout");
    const late = lastAnswer("408 Request Timeout", "The request did not arrive in time.");
    dismissGently(socket, late, this.#options.times.lingerMs);
  }

  /** Node's own answers to what its parser refuses, with a reason. */
  #refuseRequest({ code }: NodeJS.ErrnoException, socket: Ending): void {
    if (isAnswerUnderWay(socket)) {
      // A second answer would be a part of this one, or follow one that was announced as the last.
      socket.destroySoon();
      return;
    }
    const refuse = (text: string): void => dismissGently(socket, text, this.#options.times.lingerMs);
    switch (code) {
      case "HPE_HEADER_OVERFLOW":
        this.#options.events.onLargeHeaders?.();
        this.#options.events.onRefused?.("headers");
        refuse(lastAnswer("431 Request Header Fields Too Large", headersTooLarge));
        break;
      case "ERR_HTTP_REQUEST_TIMEOUT":
        this.#refuseLateRequest(socket);
        break;
      case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
        this.#options.events.onRefused?.("message_size");
        refuse(lastAnswer("413 Payload Too Large", "The extensions of a chunk are too large."));
        break;
      default:
        refuse(lastAnswer("400 Bad Request", "This is not a request of HTTP/1.1."));
    }
  }
}

/** Sends a last answer, unless another one is under way, and closes. */
function dismiss(socket: Duplex, text: string): void {
  // Bytes that the system does not take at once are dropped: a peer that does not read must not keep its
  // connection.
  if (socket.writable && socket.writableLength === 0) socket.write(text);
  socket.destroy();
}
