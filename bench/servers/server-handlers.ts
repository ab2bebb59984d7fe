import type { SequencedDocumentInput } from "../fixtures/sequenced-document.js";

/** What a case may ask of a server that it publishes to directly. */

export type PublishInput = SequencedDocumentInput;

export interface Published {
  /** When the server was handed the document, before anything of it was encoded. */
  readonly publishedMs: number;
}

export interface ServerHandlers {
  [name: string]: (input: never) => unknown;
  listen: (input: null) => Promise<{ port: number }>;
  publish: (input: PublishInput) => Published;
}

/** What else ours can be asked. */
export interface ConvergingHandlers extends ServerHandlers {
  /** When the proxy knew that every subscriber has what was published last: acked in bunting.sync.v1, written in flagd.sync.v1. */
  converged: (input: null) => Promise<{ convergedMs: number }>;
}
