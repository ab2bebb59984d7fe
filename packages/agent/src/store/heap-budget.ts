import { getHeapStatistics } from "node:v8";
import { AgentError } from "../agent-error.js";

const megabyte = 1024 * 1024;

/** What is not there for flags: code, servers and their requests, and garbage that has not been collected. */
const reserveBytes = 10 * megabyte;

/** Above the reserve, this part of the heap may be flags. The rest is for answers that hold many of them, as in bulk evaluation. */
const flagShare = 0.8;

/**
 * A document is held as bytes outside of the heap, up to three times while one replaces another. The container must have room for that
 * beside the heap; this is the part of the heap limit that one document may have in bytes.
 */
const documentShare = 1 / 8;

const minDocumentBytes = megabyte;

/**
 * How much the flags may take. V8 ends a process whose heap is full without asking, so a document that would not fit has to be refused
 * before anything is made of it.
 */
export class HeapBudget {
  /** What the flags of all sources may take on the heap together, in bytes, as heap-weights.ts counts. */
  readonly flagBytes: number;
  /** Size of the largest document that is looked at. */
  readonly maxDocumentBytes: number;
  readonly #heapLimitBytes: number;

  constructor(heapLimitBytes: number = getHeapStatistics().heap_size_limit) {
    this.#heapLimitBytes = heapLimitBytes;
    this.flagBytes = Math.max(0, heapLimitBytes - reserveBytes) * flagShare;
    this.maxDocumentBytes = Math.max(minDocumentBytes, Math.floor(heapLimitBytes * documentShare));
  }

  /** @throws AgentError DOCUMENT_TOO_LARGE */
  checkDocument(documentBytes: number): void {
    if (documentBytes <= this.maxDocumentBytes) return;
    throw this.#tooLarge(
      `a document of ${inMegabytes(documentBytes)} is more than the ${inMegabytes(this.maxDocumentBytes)} there are for one`,
    );
  }

  /**
   * @param heldBytes what is on the heap for flags and stays there until the document has replaced its predecessor
   * @param newBytes what the document would add
   * @throws AgentError DOCUMENT_TOO_LARGE
   */
  checkFlags(documentBytes: number, heldBytes: number, newBytes: number): void {
    if (heldBytes + newBytes <= this.flagBytes) return;
    const beside = heldBytes === 0 ? "" : ` beside the ${inMegabytes(heldBytes)} of the flags in use`;
    throw this.#tooLarge(
      `the changes of a document of ${inMegabytes(documentBytes)} need at least ${inMegabytes(newBytes)} of heap${beside}, and flags may take ${inMegabytes(this.flagBytes)}`,
    );
  }

  #tooLarge(what: string): AgentError {
    const limit = `the heap limit is ${inMegabytes(this.#heapLimitBytes)}`;
    return new AgentError(
      "DOCUMENT_TOO_LARGE",
      `${what}; ${limit}: raise the container's memory limit, or --max-old-space-size of node`,
    );
  }
}

function inMegabytes(bytes: number): string {
  return `${(bytes / megabyte).toFixed(1)} MB`;
}
