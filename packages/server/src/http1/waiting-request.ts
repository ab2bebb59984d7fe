import type { IncomingMessage, ServerResponse } from "node:http";
import { interceptPush } from "../node-internals/intercept-push.js";
import type { PeerAccount } from "@bunting/http2";

/** Bytes of a waiting request: node's objects for it and its answer, and an ordinary head. The connection charges more for a larger head. */
const requestBytes = 4 * 1024;
/** Bytes of node's objects for a piece of a body, in addition to its content. */
const pieceBytes = 256;

export type WaitingAnswer = ServerResponse & { readonly req: IncomingMessage };

/**
 * A pipelined request that waits for the answers before it, perhaps for ever: one of them may be a stream of events. Node keeps
 * each piece of its body, so the pieces are charged.
 */
export class WaitingRequest {
  /** Charged bytes of its head and trailers. */
  headBytes: number;
  readonly #answer: WaitingAnswer;
  readonly #account: PeerAccount | undefined;
  #chargedBytes = 0;
  #isWaiting = true;

  constructor(answer: WaitingAnswer, headBytes: number, account: PeerAccount | undefined) {
    this.headBytes = headBytes;
    this.#answer = answer;
    this.#account = account;
    this.#charge(requestBytes);
    interceptPush(answer.req, (piece, push) => {
      if (piece !== null && this.#isWaiting) this.#charge(pieceBytes + piece.length);
      return push(piece);
    });
  }

  /** Ends the wait. */
  begin(): WaitingAnswer {
    this.#isWaiting = false;
    this.#account?.release(this.#chargedBytes);
    return this.#answer;
  }

  #charge(bytes: number): void {
    this.#chargedBytes += bytes;
    this.#account?.charge(bytes);
  }
}
