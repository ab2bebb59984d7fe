import { sleep } from "@bunting/runtime";
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
  readonly headerTimeoutMs: number;
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

/** Bytes accepted beyond `maxHeaderBytes`. Go's server, and so flagd, accepts as many for its read buffer. */
const headerSlackBytes = 4_096;
/** Bytes of headers that every connection may send, however many connections are open. */
const minHeaderBytes = 16 * 1024;
/**
 * The part of the budget that incomplete headers may take. Node does not report how many bytes of them it holds, so the limit of each
 * connection is set when node takes it over: the more connections are open, the lower the limit of a new one.
 */
const headerShare = 1 / 8;

const headersTooLarge = "The headers of the request are larger than this server accepts.";
const overloaded = lastAnswer(
  "503 Service Unavailable",
  "The peers of this server hold as much of its memory as they may (--peer-memory).",
  "retry-after: 1\r\n",
);

/** How often it is looked whether a time limit is over. */
function checkEveryMs(limitMs: number): number {
  return Math.max(10, Math.min(1_000, Math.ceil(limitMs / 4)));
}

type Ending = Duplex & { destroySoon(): void };

const connection = Symbol("the Http1Connection of a socket");
/** A socket that `#take` has seen. The sockets of `#whole` have no Http1Connection, and their accounts are always idle between two events. */
type Connected = Socket & { [connection]: Http1Connection };

/** HTTP/1.1 on sockets that were accepted elsewhere. A socket begins in `#whole`, and goes to node's server for good once `#whole` leaves it. */
export class Http1Server {
  readonly #options: Http1ServerOptions;
  readonly #onRequest: RequestListener;
  readonly #server;
  readonly #whole: WholeRequestServer;
  readonly #connections = new Set<Http1Connection>();
  /** `ending`: each answer announces the end of its connection. `draining`: idle connections are closed as well. */
  #state: "serving" | "ending" | "draining" = "serving";
  readonly #closing = new AbortController();
  #onDrained = (): void => undefined;

  constructor(onRequest: RequestListener, options: Http1ServerOptions) {
    const { headerTimeoutMs, requestTimeoutMs, idleTimeoutMs = 60_000 } = options.times;
    // A request that was sent within the announced time may still be on its way: the grace lets it arrive.
    const graceMs = idleTimeoutMs / 10;
    this.#options = options;
    this.#onRequest = onRequest;
    const onHead = (request: IncomingMessage, response: WaitingAnswer): void =>
      (request.socket as Connected)[connection].take(response);
    this.#server = createServer(
      {
        // Node would refuse a request without Host (and one with an unknown expectation) before the answers to earlier requests.
        requireHostHeader: false,
        headersTimeout: headerTimeoutMs,
        requestTimeout: Math.max(headerTimeoutMs, requestTimeoutMs),
        connectionsCheckingInterval: checkEveryMs(headerTimeoutMs),
        keepAliveTimeout: idleTimeoutMs,
      },
      onHead,
    );
    this.#server.on("checkExpectation", onHead);
    this.#server.on("clientError", (error, socket) => this.#refuseRequest(error, socket as Ending));
    // The first timeout is the announced one and starts the grace; the second ends it.
    this.#server.on("timeout", (socket: Socket) => {
      if (socket.timeout === graceMs) socket.destroy();
      else socket.setTimeout(graceMs);
    });
    this.#whole = new WholeRequestServer(options.wholeRequests, {
      maxHeaderBytes: options.limits.maxHeaderBytes,
      times: { idleTimeoutMs, graceMs, sweepMs: checkEveryMs(idleTimeoutMs) },
      turns: options.turns,
      stallClock: options.stallClock,
      onOther: (socket, account) => this.#take(socket, account),
      onClosed: () => this.#lookWhetherDrained(),
    });
  }

  /** Begins to enforce the timeouts. */
  start(): void {
    trackConnections(this.#server);
  }

  /** Open connections, for the stall watch. */
  *connections(): Generator<WatchedSession> {
    yield* this.#connections;
    yield* this.#whole.connections;
  }

  /** Takes over a connection; bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void {
    const { memory } = this.#options.limits;
    const address = peerAddress(socket);
    if (memory?.makeRoom(address) === false) {
      this.#overload(socket);
      return;
    }
    const account = memory?.open(() => this.#evict(socket, account), address);
    setAccount(socket, account);
    if (this.#state !== "serving") this.#take(socket, account);
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
    // The turn has no work left, so the socket is held back: node would handle all bytes that were read at once, and read on.
    socket.pause();
    stopReading(socket);
  }

  #forget(connection: Http1Connection): void {
    this.#connections.delete(connection);
    this.#lookWhetherDrained();
  }

  get #size(): number {
    return this.#connections.size + this.#whole.size;
  }

  #lookWhetherDrained(): void {
    if (this.#size === 0) this.#onDrained();
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
   * Makes each answer the last of its connection, and says so in it. After `lastCallMs`, closes connections that are between two requests; the others
   * close after the answers to requests that have begun to arrive. Resolves when none is left; `close` ends the wait.
   */
  async drain(lastCallMs: number): Promise<void> {
    this.#state = "ending";
    this.#whole.announceEnd();
    for (const one of this.#connections) one.announceEnd();
    if (lastCallMs > 0 && this.#size > 0) {
      await sleep(lastCallMs, this.#closing.signal);
      // The timer runs before node reads what arrived meanwhile.
      await this.#options.turns.allRead(this.#closing.signal);
    }
    this.#state = "draining";
    this.#whole.closeIdle();
    this.#server.closeIdleConnections();
    for (const one of this.#connections) one.closeUnused();
    if (this.#size > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }

  /** Stops the timeouts. The sockets are to be destroyed by their owner, which accepted them. */
  close(): void {
    this.#closing.abort();
    this.#onDrained();
    this.#whole.close();
    this.#server.close();
  }

  #headerLimit(): number {
    const { maxHeaderBytes, memory } = this.#options.limits;
    const room =
      memory === undefined ? Infinity : (memory.budgetBytes * headerShare) / this.#connections.size;
    return Math.floor(Math.min(maxHeaderBytes, Math.max(minHeaderBytes, room)));
  }

  /** Ends a connection because memory is short. */
  #evict(socket: Socket, account: OpenAccount | undefined): void {
    if (account?.isIdle !== true && !(socket as Connected)[connection].isAnswerUnderWay) {
      this.#overload(socket);
      return;
    }
    // No answer is sent: the client would take it for the answer to its next request, or for a part of the one under way.
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

  /** Answers a request that node's parser has refused, in place of node and with a reason. */
  #refuseRequest({ code }: NodeJS.ErrnoException, socket: Ending): void {
    if (isAnswerUnderWay(socket)) {
      // A second answer would become a part of the one under way, or follow an answer that was announced as the last.
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
  // A peer that does not read must not keep its connection, so bytes that the system does not take at once are dropped.
  if (socket.writable && socket.writableLength === 0) socket.write(text);
  socket.destroy();
}
