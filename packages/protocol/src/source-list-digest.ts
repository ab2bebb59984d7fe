import { createHash } from "node:crypto";

/** The FeatureFlags of FeatureFlagSources, as the operator compiles them for Pods with one text. */
export interface CompiledSourceList {
  /** Of the Pods. */
  readonly namespace: string;
  /** Of the annotation by which they name the FeatureFlagSources. */
  readonly text: string;
  /** A digest of all else that decides about the Pods. */
  readonly frame: string;
  /** `namespace/name`, in ascending priority. */
  readonly topics: readonly string[];
}

/** By this, an agent says which list it has: 32 hex digits. */
export function sourceListDigest({ namespace, text, frame, topics }: CompiledSourceList): string {
  const list = JSON.stringify([namespace, text, frame, topics]);
  return createHash("sha256").update(list).digest("hex").slice(0, 32);
}
