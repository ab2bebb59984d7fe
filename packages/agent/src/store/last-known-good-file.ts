import { decodeVersion, type DocumentVersion } from "@bunting/sync-client/messages";
import { CopyFile, type DocumentCopy } from "@bunting/files/copies";

/** Identifies the source of a copy. Two sources that agree in all of these have the same flags, and may share a file. */
export interface CopySource {
  readonly provider: string;
  readonly uri: string;
  readonly selector: string;
}

export type SourceCopy = DocumentCopy<DocumentVersion>;

/** @param maxDocumentBytes a longer document is not read */
export function lastKnownGoodFile(
  directory: string,
  { provider, uri, selector }: CopySource,
  maxDocumentBytes: number,
): CopyFile<DocumentVersion> {
  return new CopyFile({ directory, source: [provider, uri, selector], maxDocumentBytes, decodeVersion });
}
