import { RpcError } from "@bunting/rpc";
import { largestDocumentBytes } from "../store/heap-budget.js";

/** The bytes that one answer may have: as many as a document. A connection with much more unread would be ended to free memory. */
const maxAnswerBytes = largestDocumentBytes();

/** The size of an answer with many flags, while it is made: each flag repeats the metadata of its set, and may repeat a value. */
export class AnswerSize {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number = maxAnswerBytes) {
    this.#maxBytes = maxBytes;
  }

  /** @throws RpcError RESOURCE_EXHAUSTED if the answer is too large with so many bytes more */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return;
    throw new RpcError(
      "RESOURCE_EXHAUSTED",
      `The answer is larger than the ${this.#maxBytes} bytes that this agent has memory for: select fewer flags, give the set of flags less metadata, or raise the container's memory limit or --max-old-space-size of node.`,
      { refusal: "answer_size" },
    );
  }
}
