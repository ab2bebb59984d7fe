import type { TextPosition } from "@bunting/files/text";
import type { TopicKey } from "@bunting/protocol";
import type { InvalidReason, ObjectFlags, WarningKind } from "./object-reading.js";

/** Larger files are refused: no FeatureFlag in a cluster can have more than a tenth of this. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** What a file says about flags. */
export interface Manifest {
  readonly flags: readonly ManifestFlags[];
  readonly errors: readonly ManifestError[];
  readonly warnings: readonly ManifestWarning[];
}

/** The flags of one topic. */
export interface ManifestFlags extends TextPosition, ObjectFlags {
  /** Where in the file the key or item at a path of the document is, or the nearest around it. */
  positionOf(path: readonly string[]): TextPosition;
}

/** Something in the file that can't be served. */
export interface ManifestError extends TextPosition {
  readonly reason: InvalidReason;
  readonly message: string;
  /** The topic the flags would have had; absent if that is not clear: then it may be any topic that the file held before. */
  readonly topic?: TopicKey;
  /** The key of the one flag that is refused; the others of the topic are served. Absent if it is more. */
  readonly flag?: string;
}

/** Something in the file that is served, but maybe not as its author thinks. */
export interface ManifestWarning extends TextPosition {
  readonly kind: WarningKind;
  readonly message: string;
}

/** The topic of a plain flagd file, which does not name it itself; or why it can have none. */
export type PlainTopic = { readonly topic: TopicKey } | { readonly problem: string };
