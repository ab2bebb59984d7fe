import type { DocumentVersion, RejectedFlag } from "./bunting-wire.js";

/** A document and where its parts lie in its bytes. The store has it of each document it serves. */
export interface DocumentLayout {
  readonly bytes: Buffer;
  readonly entries: {
    /** The flags' keys, in the order of the rows. */
    readonly ids: readonly string[];
    /** Offset of a flag's key, with its quote. */
    start(row: number): number;
    end(row: number): number;
    /** Where a flag's definition lies. */
    value(row: number): Slice;
  };
  /** `flags` is a list of flags that carry their key. */
  readonly isList: boolean;
  /** A key came twice: the rows are not in the order of the bytes. */
  readonly hasDuplicates: boolean;
  readonly metadata: Slice | undefined;
  readonly evaluators: Slice | undefined;
}

interface Slice {
  readonly start: number;
  readonly end: number;
}

/** What the agent stands at of one source. */
export interface HeldDocument {
  readonly layout: DocumentLayout;
  /** As the proxy told it; undefined if the document came another way. */
  readonly version: DocumentVersion | undefined;
  readonly rejectedFlags: readonly RejectedFlag[];
}
