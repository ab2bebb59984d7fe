import type { SequencedDocumentInput } from "../fixtures/sequenced-document.js";

/** The calls of a case to a server to which it publishes directly. */

export type PublishInput = SequencedDocumentInput;

export interface Published {
  /** When the server received the document, before it was encoded. */
  readonly publishedMs: number;
}

export interface ServerHandlers {
  [name: string]: (input: never) => unknown;
  listen: (input: null) => Promise<{ port: number }>;
  publish: (input: PublishInput) => Published;
}

/** Further calls to the proxy. */
export interface ConvergingHandlers extends ServerHandlers {
  /** When the proxy knew that every subscriber has the latest document: acked in bunting.sync.v1, written in flagd.sync.v1. */
  converged: (input: null) => Promise<{ convergedMs: number }>;
}
