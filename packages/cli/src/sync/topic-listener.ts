import type { FlagDocument } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import { printableLine } from "../terminal/escaped-controls.js";

/** A version of a document, as far as the protocol says. */
export interface TopicVersion {
  readonly document: FlagDocument;
  /** Absent in flagd.sync.v1, and where the proxy's source has none. */
  readonly resourceVersion: string | undefined;
  readonly generation: number | undefined;
  /** In hex; absent in flagd.sync.v1. */
  readonly digest: string | undefined;
}

/** What a server says about a topic. */
export interface TopicListener {
  /** The stream is open. */
  opened(protocol: "bunting.sync.v1" | "flagd.sync.v1"): void;
  /** A document arrived, or the one that is held turned out to be the newest. */
  version(version: TopicVersion): void;
  missing(): void;
  /** The FeatureFlag was deleted; what agents of the proxy serve from now on. */
  deleted(policy: "keep" | "empty" | "close"): void;
  /** The server refuses the topic. It may be asked again. */
  refused(message: string): void;
}

/** Why a document was not taken; the error may quote it. */
export function noDocument(error: unknown): string {
  return `the server sent a document that is none: ${printableLine(cut((error as Error).message))}`;
}
