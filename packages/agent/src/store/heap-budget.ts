import { heapLimitBytes } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";

const megabyte = 1024 * 1024;

/** Heap that is not available for flags: code, servers and their requests, and garbage that has not been collected. */
const reserveBytes = 10 * megabyte;

/** Part of the heap above the reserve that flags may take. The rest is for large answers, as in bulk evaluation. */
const flagShare = 0.8;

/** Part of that which sources may take: an agent is there for flags. */
const sourcesShare = 3 / 4;

const documentShare = 1 / 8;
const minDocumentBytes = megabyte;

/**
 * The size that one document may have in bytes, as a part of the heap limit, and so one answer that is made of it. A document is
 * held outside of the heap, up to three times while one replaces another, and the container must have room for that beside the heap.
 */
export function largestDocumentBytes(limitBytes = heapLimitBytes()): number {
  return Math.max(minDocumentBytes, Math.floor(limitBytes * documentShare));
}

/** Memory that flags may take. A full heap kills the process, so a document that does not fit is refused unparsed. */
export class HeapBudget {
  /** The heap that the flags of all sources may take together, in bytes, by the weights of `serving`. */
  readonly flagBytes: number;
  /** Size of the largest document that is read, in bytes. */
  readonly maxDocumentBytes: number;
  readonly #heapLimitBytes: number;

  /** @param sourcesBytes what sources take beside their flags */
  constructor(limitBytes: number = heapLimitBytes(), sourcesBytes = 0) {
    this.#heapLimitBytes = limitBytes;
    this.flagBytes = Math.max(0, (limitBytes - reserveBytes) * flagShare - sourcesBytes);
    this.maxDocumentBytes = largestDocumentBytes(limitBytes);
  }

  /** @throws AgentError DOCUMENT_TOO_LARGE */
  checkDocument(documentBytes: number): void {
    if (documentBytes <= this.maxDocumentBytes) return;
    throw this.#tooLarge(
      `a document of ${inMegabytes(documentBytes)} is more than the ${inMegabytes(this.maxDocumentBytes)} there are for one`,
    );
  }

  /**
   * @param currentBytes heap of the current flags, which stay until the document has replaced its predecessor
   * @param newBytes heap that the document would add
   * @throws AgentError DOCUMENT_TOO_LARGE
   */
  checkFlags(documentBytes: number, currentBytes: number, newBytes: number): void {
    // What adds nothing is taken where there is too much already: flags that were taken over into another list, whose sources leave less for them.
    if (newBytes === 0 || currentBytes + newBytes <= this.flagBytes) return;
    const beside = currentBytes === 0 ? "" : ` beside the ${inMegabytes(currentBytes)} of the flags in use`;
    throw this.#tooLarge(
      `the changes of a document of ${inMegabytes(documentBytes)} need at least ${inMegabytes(newBytes)} of heap${beside}, and flags may take ${inMegabytes(this.flagBytes)}`,
    );
  }

  /**
   * To be asked of a budget without sources.
   *
   * @throws AgentError OPTION_INVALID
   */
  checkSources(sources: number, sourcesBytes: number): void {
    const mostBytes = this.flagBytes * sourcesShare;
    if (sourcesBytes <= mostBytes) return;
    throw AgentError.optionInvalid(
      `${sources} sources need about ${inMegabytes(sourcesBytes)} of heap beside their flags, and may take ${inMegabytes(mostBytes)}; have fewer of them, with more flags each. Otherwise, ${this.#remedy}`,
    );
  }

  #tooLarge(what: string): AgentError {
    return new AgentError("DOCUMENT_TOO_LARGE", `${what}; ${this.#remedy}`);
  }

  get #remedy(): string {
    return `the heap limit is ${inMegabytes(this.#heapLimitBytes)}: raise the container's memory limit, or --max-old-space-size of node`;
  }
}

function inMegabytes(bytes: number): string {
  return `${(bytes / megabyte).toFixed(1)} MB`;
}
