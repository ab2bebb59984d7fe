import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OpenAccount } from "../limits/peer-memory.js";

/** How many requests a client may send ahead of the answers; hardly any client sends one. */
const maxWaiting = 32;
/** What a request that waits takes: node's objects for it and its answer. */
const waitingBytes = 4 * 1024;

type Answer = ServerResponse & { readonly req: IncomingMessage };
/** Node's parser of a connection, which is not in the types. It calls back with each request, and stops parsing if 2 is returned. */
type Parsed = Socket & { readonly parser?: { onIncoming?: () => number } | null };

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
      this.#isAnswering = true;
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

  #begin(response: Answer): void {
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
