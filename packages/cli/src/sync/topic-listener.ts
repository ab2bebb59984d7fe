import type { FlagDocument } from "@bunting/protocol";
import { cut } from "@bunting/runtime/options";
import type { VersionFields } from "@bunting/sync-client/messages";
import { printableLine } from "../terminal/escaped-controls.js";

/** A version of a document, as far as the protocol says: flagd.sync.v1 says nothing of it. */
export interface TopicVersion extends VersionFields {
  readonly document: FlagDocument;
  /** In hex. */
  readonly digest?: string;
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

/** Why a document was not taken; the reason may quote it. */
export function noDocument(reason: string): string {
  return `the server sent a document that is none: ${printableLine(cut(reason))}`;
}
