import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OpenAccount } from "../limits/peer-memory.js";

/** How many requests a client may send ahead of the answers. */
const maxWaiting = 256;
/** What a request that waits takes: node's objects for it and its answer. */
const waitingBytes = 4 * 1024;

type Answer = ServerResponse & { readonly req: IncomingMessage };

/**
 * The requests of one HTTP/1.1 connection, answered one after the other. Node passes on all pipelined requests of a chunk at once: a client
 * that reads no answers would have the process make and hold hundreds of them.
 */
export class Http1Connection {
  readonly #socket: Socket;
  readonly #account: OpenAccount | undefined;
  readonly #onRequest: RequestListener;
  readonly #onPipelining: () => void;
  readonly #onAnswered: () => void;
  #isAnswering = false;
  #waiting: Answer[] | undefined;

  /** @param onPipelining called when the connection is ended because of too many requests ahead of the answers. */
  constructor(
    socket: Socket,
    account: OpenAccount | undefined,
    onRequest: RequestListener,
    onPipelining: () => void,
  ) {
    this.#socket = socket;
    this.#account = account;
    this.#onRequest = onRequest;
    this.#onPipelining = onPipelining;
    this.#onAnswered = () => this.#next();
    socket.once("close", () => account?.close());
  }

  take(response: Answer): void {
    if (!this.#isAnswering) {
      this.#begin(response);
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(response);
    if (this.#waiting.length > maxWaiting) {
      this.#onPipelining();
      this.#socket.destroy();
    } else this.#account?.charge(waitingBytes);
  }

  #begin(response: Answer): void {
    this.#isAnswering = true;
    this.#account?.begin();
    response.once("close", this.#onAnswered);
    this.#onRequest(response.req, response);
  }

  #next(): void {
    this.#account?.finish();
    const response = this.#socket.destroyed ? undefined : this.#waiting?.shift();
    if (response === undefined) {
      this.#isAnswering = false;
      return;
    }
    this.#account?.release(waitingBytes);
    this.#begin(response);
  }
}
