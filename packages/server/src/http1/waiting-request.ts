import type { IncomingMessage, ServerResponse } from "node:http";
import { interceptPush } from "../node-internals/intercept-push.js";
import type { PeerAccount } from "@bunting/http2";

/** What a request that waits takes: node's objects for it and its answer, and an ordinary head. What a larger head takes is charged by the connection. */
const requestBytes = 4 * 1024;
/** What node's objects for a piece of its body take, however small that is. */
const pieceBytes = 256;

export type WaitingAnswer = ServerResponse & { readonly req: IncomingMessage };

/**
 * A pipelined request that waits until those before it are answered, which may be never: one of them may be a stream of events. Node keeps what
 * comes of its body, each piece by itself, so that is charged.
 */
export class WaitingRequest {
  /** What its head was charged with, and its trailers, until it has been answered. */
  headBytes: number;
  readonly #answer: WaitingAnswer;
  readonly #account: PeerAccount | undefined;
  #heldBytes = 0;
  #isWaiting = true;

  constructor(answer: WaitingAnswer, headBytes: number, account: PeerAccount | undefined) {
    this.headBytes = headBytes;
    this.#answer = answer;
    this.#account = account;
    this.#hold(requestBytes);
    interceptPush(answer.req, (piece, push) => {
      if (piece !== null && this.#isWaiting) this.#hold(pieceBytes + piece.length);
      return push(piece);
    });
  }

  /** Ends the wait. */
  begin(): WaitingAnswer {
    this.#isWaiting = false;
    this.#account?.release(this.#heldBytes);
    return this.#answer;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#account?.charge(bytes);
  }
}
