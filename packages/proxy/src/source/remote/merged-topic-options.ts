import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { Clock, FairTurns } from "@bunting/runtime";
import type { FlagSource, SourceSink } from "../flag-source.js";
import type { RemoteLanguage } from "./remote-language.js";

/** How sides are merged. */
export interface MergeParts {
  readonly language: Pick<RemoteLanguage, "parse" | "merging">;
  /** Called with what the merge has made of the sides beyond taking flags, as sentences, when that changes; none: nothing. */
  readonly onRemarks?: ((remarks: readonly string[]) => void) | undefined;
  /** Does most of the work of reporting a large document beforehand, in slices of the event loop. */
  readonly prepare?: ((document: FlagDocument) => Promise<void>) | undefined;
  /** Large merges of all topics happen one after the other, and those of namespaces in turn. */
  readonly turns: FairTurns;
}

export interface MergedTopicOptions {
  readonly topic: TopicKey;
  readonly sink: SourceSink;
  readonly peer: unknown;
  /** The source of both sides. */
  readonly source: Pick<FlagSource, "watch">;
  readonly merges: MergeParts;
  readonly clock: Clock;
}
