import type { DocumentVersion } from "@bunting/sync-client/messages";
import type { InvalidFlag } from "@bunting/evaluation";
import type { DocumentIndex } from "../document/document-index.js";

/** The newest document of one source that the store has accepted. */
export interface CurrentDocument {
  readonly layout: DocumentIndex;
  /** As the proxy sent it; undefined if the document came another way. */
  readonly version: DocumentVersion | undefined;
  readonly rejectedFlags: readonly InvalidFlag[];
}

export interface DocumentName {
  /** In hex: as the proxy names it, else the SHA-256 of its bytes. */
  readonly digest: string;
  /** Of the FeatureFlag, if the source knows it. */
  readonly resourceVersion?: string;
}
