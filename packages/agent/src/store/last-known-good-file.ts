import { decodeVersion, type DocumentVersion } from "@bunting/sync-client/messages";
import { CopyFile, type DocumentCopy } from "@bunting/files/copies";

/** Identifies the source of a copy. Two sources that agree in all of these have the same flags, and may share a file. */
export interface CopySource {
  readonly provider: string;
  readonly uri: string;
  readonly selector: string;
  /** What else its flags depend on. */
  readonly also?: readonly string[];
  /** The place that the source has in messages, if that is not its place among those whose copies are kept together. */
  readonly sourceIndex?: number;
}

export type SourceCopy = DocumentCopy<DocumentVersion>;

/** @param maxDocumentBytes a longer document is not read */
export function lastKnownGoodFile(
  directory: string,
  { provider, uri, selector, also = [] }: CopySource,
  maxDocumentBytes: number,
): CopyFile<DocumentVersion> {
  return new CopyFile({
    directory,
    source: [provider, uri, selector, ...also],
    maxDocumentBytes,
    decodeVersion,
  });
}
