import type { TopicKey } from "@bunting/protocol";
import { cut } from "@bunting/runtime";
import type { RemoteReport, RemoteStateName } from "../../source/flag-source.js";

/** A FeatureFlag's remote flag provider. Everything is absent that this replica does not know: one replica reads the remote for all. */
export interface RemoteView {
  readonly state?: RemoteStateName;
  /** Why it is in that state, or has failed since its last answer: as a condition's reason, and as a sentence. */
  readonly reason?: string;
  readonly message?: string;
  /** What is served otherwise than the sides say, as a sentence: flags that are left out, evaluators that have other names. */
  readonly remarks?: string;
  /** Since when it has been in that state, in ms since the epoch. */
  readonly sinceMs?: number;
  /** Flags by the side that they are of; absent while the FeatureFlag's own alone are served. */
  readonly flags?: { readonly local: number; readonly remote: number };
}

const maxMessageCharacters = 500;

export interface RemoteLookup {
  readonly remoteOf: (topic: TopicKey) => RemoteReport | undefined;
  readonly fromMonotonic: (ms: number) => number;
}

/** Undefined if the FeatureFlag names no provider. */
export function remoteView(
  topic: TopicKey,
  { remoteOf, fromMonotonic }: RemoteLookup,
): RemoteView | undefined {
  const report = remoteOf(topic);
  if (report === undefined) return undefined;
  const { state, reason, message, sinceMs, remarks = [], provenance } = report;
  let remote = 0;
  for (const side of provenance?.values() ?? []) if (side === "remote") remote++;
  return {
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message: cut(message, maxMessageCharacters) }),
    ...(remarks.length === 0 ? {} : { remarks: cut(remarks.join("; "), maxMessageCharacters) }),
    ...(sinceMs === undefined ? {} : { sinceMs: fromMonotonic(sinceMs) }),
    ...(provenance === undefined ? {} : { flags: { local: provenance.size - remote, remote } }),
  };
}

const maxNames = 1_000;

/** The names of the flags that are of the remote, a thousand at most; undefined without any. */
export function remoteFlags(
  topic: TopicKey,
  { remoteOf }: Pick<RemoteLookup, "remoteOf">,
): readonly string[] | undefined {
  const names: string[] = [];
  for (const [name, side] of remoteOf(topic)?.provenance ?? []) {
    if (names.length === maxNames) break;
    if (side === "remote") names.push(cut(name, 100));
  }
  return names.length === 0 ? undefined : names;
}
